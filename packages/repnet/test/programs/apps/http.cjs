require('http').get({ host: '127.0.0.1', port: process.env.PORT }, (response) => response.pipe(process.stdout));
