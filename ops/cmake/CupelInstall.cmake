# What `cmake --install build/release --prefix /usr` puts beside the programs: units, examples, documents.
install(FILES ops/systemd/cupel-coordinator.service ops/systemd/cupel-worker.service
        DESTINATION lib/systemd/system)
install(FILES ops/systemd/cupel.sysusers DESTINATION lib/sysusers.d RENAME cupel.conf)
install(FILES ops/systemd/cupel.tmpfiles DESTINATION lib/tmpfiles.d RENAME cupel.conf)
install(FILES ops/config/coordinator.yaml ops/config/worker.yaml
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
