# `cpack` (preset `deb`) makes a Debian package; its dependencies are read from the binary.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME napkin)
set(CPACK_PACKAGE_VENDOR napkin)
set(CPACK_PACKAGE_CONTACT "The napkin authors <maintainers@napkin.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "predict how a large language model trains on a cluster")
set(CPACK_PACKAGE_DESCRIPTION "napkin tells which parallel layout to use for a training run, how many bytes each
accelerator will hold, how long a step takes and where the time goes, and unfolds every number to its formula and the
source of each constant.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)
