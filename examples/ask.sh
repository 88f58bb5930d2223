# Every run.sh reads this: `ask ARGUMENTS` prints a command of napkin and its answer.
# The first argument of run.sh is the napkin binary; default: ./bootstrap at the root of the repository.
here=$(cd "$(dirname "$0")" && pwd)
napkin=${1:-$here/../../bootstrap}
case $napkin in
  /*) ;;
  */*) napkin=$PWD/$napkin ;;
esac
cd "$here"
ask() {
  printf '\n$ napkin'
  for word; do
    case $word in
      *[!A-Za-z0-9_.,:=/%@+-]*) printf " '%s'" "$word" ;;
      *) printf ' %s' "$word" ;;
    esac
  done
  printf '\n'
  "$napkin" "$@"
}
