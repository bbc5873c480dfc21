// Answers the health checks of envtest in place of etcd, until SIGTERM. A program of its own, in plain JavaScript for any
// Node: it needs a third of the memory of the command line.
import { createServer } from 'node:http';

const flag = '--listen-client-urls';
const [first] = process.argv.flatMap((arg, index) =>
  arg.startsWith(`${flag}=`) ? arg.slice(flag.length + 1) : arg === flag ? (process.argv[index + 1] ?? '') : [],
);
const text = (first ?? '').split(',')[0];
if (!URL.canParse(text)) {
  console.error(`etcd: ${flag} is missing or not a URL: envtest passes it`);
  process.exit(2);
}
const { hostname, port } = new URL(text);
const server = createServer((request, response) => {
  const isHealth = ['/health', '/readyz', '/livez'].includes(request.url);
  response.writeHead(isHealth ? 200 : 404, { 'Content-Type': 'application/json' });
  response.end(isHealth ? '{"health":"true","reason":""}\n' : '{"error":"only the health of this etcd is served"}\n');
});
server.on('error', (error) => {
  console.error(`etcd: cannot listen on ${text}: ${error.message}`);
  process.exit(1);
});
server.listen(Number(port), hostname.replace(/^\[|\]$/g, ''));
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0));
