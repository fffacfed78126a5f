'use strict';

// This program does not import repnet. README.md shows how it still uses repnet.
fetch(process.argv[2] ?? 'http://127.0.0.1:8080/')
  .then((response) => response.text())
  .then((text) => process.stdout.write(text));
