// One end of a measurement of connections, as a separate process with blocking calls: only the kernel adds
// latency. `connections.ts serve PORT` sends a byte to every client and closes; `connections.ts open ADDRESS PORT SECONDS`
// opens one connection after the other, reads to the end, and prints their number.
import { allocateWith } from '../../src/proxy/userspace/native/memory.ts';
import { loadLibc } from '../../src/proxy/userspace/native/libc.ts';
import { encodeSocketAddress } from '../../src/proxy/userspace/native/socket-address.ts';
import { systemError } from '../../src/proxy/userspace/native/sockets.ts';

const loaded = await loadLibc();
if (loaded === undefined) throw new Error('koffi is not installed: connections cannot be measured');
const libc = loaded;
const blockingStream = 1;

function serve(port: number): void {
  const address = allocateWith(libc, encodeSocketAddress('0.0.0.0', port));
  const listener = libc.socket(address.bytes[0] ?? 0, blockingStream, 0);
  if (libc.bind(listener, address.address, address.bytes.length) !== 0) throw systemError(libc);
  if (libc.listen(listener, 4096) !== 0) throw systemError(libc);
  console.log('serving');
  const byte = allocateWith(libc, Uint8Array.of(120));
  for (;;) {
    const fd = libc.accept4(listener, 0, 0, 0);
    if (fd === -1) throw systemError(libc);
    libc.send(fd, byte.address, 1, 0);
    libc.close(fd);
  }
}

function open(to: string, port: number, seconds: number): void {
  const address = allocateWith(libc, encodeSocketAddress(to, port));
  const byte = allocateWith(libc, new Uint8Array(1));
  const end = performance.now() + seconds * 1000;
  let count = 0;
  for (; performance.now() < end; count++) {
    const fd = libc.socket(address.bytes[0] ?? 0, blockingStream, 0);
    if (libc.connect(fd, address.address, address.bytes.length) !== 0) throw systemError(libc);
    // The other end closes first, so that the TIME_WAIT state is not on this side.
    while (libc.recv(fd, byte.address, 1, 0) > 0);
    libc.close(fd);
  }
  console.log(count);
}

const [role, ...args] = process.argv.slice(2);
if (role === 'serve') serve(Number(args[0]));
else open(args[0] ?? '', Number(args[1]), Number(args[2]));
