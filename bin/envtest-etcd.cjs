// Answers the health checks of envtest in place of etcd, until SIGTERM. A program of its own without Node's HTTP server and
// module loader: it needs half the memory of one with them.
'use strict';
const { createServer } = require('node:net');

const flag = '--listen-client-urls';
const [first = ''] = process.argv.flatMap((arg, index) =>
  arg.startsWith(`${flag}=`) ? arg.slice(flag.length + 1) : arg === flag ? (process.argv[index + 1] ?? '') : [],
);
const [text] = first.split(',');
if (!URL.canParse(text)) {
  console.error(`etcd: ${flag} is missing or not a URL: envtest passes it`);
  process.exit(2);
}
const maxHeadBytes = 16384;

const reply = (path) => {
  const isHealth = ['/health', '/readyz', '/livez'].includes(path);
  const body = isHealth ? '{"health":"true","reason":""}\n' : '{"error":"only the health of this etcd is served"}\n';
  const head = [
    isHealth ? 'HTTP/1.1 200 OK' : 'HTTP/1.1 404 Not Found',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
};

const server = createServer((socket) => {
  let head = '';
  socket.setTimeout(10_000, () => socket.destroy());
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    head += chunk.toString('latin1');
    if (head.includes('\r\n\r\n')) socket.end(reply(head.split(' ', 2)[1]));
    else if (head.length > maxHeadBytes) socket.destroy();
  });
});
server.on('error', (error) => {
  console.error(`etcd: cannot listen on ${text}: ${error.message}`);
  process.exit(1);
});
const { hostname, port } = new URL(text);
server.listen(Number(port), hostname.replace(/^\[|\]$/g, ''));
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0));
