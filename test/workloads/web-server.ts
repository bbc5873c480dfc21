// A web server as in ordinary Pods: after SIGTERM it accepts no connection and completes the requests in progress.
import { createServer } from 'node:http';

const [version = '', host = ''] = process.argv.slice(2);
const server = createServer((_, response) => {
  setTimeout(() => response.end(`${version}\n`), 20);
});
server.listen(8080, host);
process.once('SIGTERM', () => server.close(() => process.exit(0)));
