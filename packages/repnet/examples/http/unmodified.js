'use strict';

// Knows nothing of repnet. See README.md for how it is made to use it all the same.
fetch(process.argv[2] ?? 'http://127.0.0.1:8080/')
  .then((response) => response.text())
  .then((text) => process.stdout.write(text));
