require('https').get({ host: '127.0.0.1', servername: 'localhost', port: process.env.PORT }, (response) => response.pipe(process.stdout));
