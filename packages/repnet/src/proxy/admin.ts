/** HTTP server for health and metrics. It serves only `/healthz` and `/metrics`. */
import http from 'node:http';

export interface AdminPages {
  /** Whether the proxy accepts flows. */
  healthy(): boolean;
  metrics(): string;
}

export function createAdmin(pages: AdminPages): http.Server {
  return http.createServer((request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0];
    const answer = (status: number, type: string, body: string): void => {
      response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
      response.end(request.method === 'HEAD' ? undefined : body);
    };
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      answer(405, 'text/plain; charset=utf-8', 'only GET and HEAD\n');
    } else if (path === '/healthz') {
      if (pages.healthy()) answer(200, 'text/plain; charset=utf-8', 'ok\n');
      else answer(503, 'text/plain; charset=utf-8', 'draining\n');
    } else if (path === '/metrics') {
      answer(200, 'text/plain; version=0.0.4; charset=utf-8', pages.metrics());
    } else {
      answer(404, 'text/plain; charset=utf-8', 'known here: /healthz, /metrics\n');
    }
  });
}
