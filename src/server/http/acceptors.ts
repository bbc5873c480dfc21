import type { Server as NetServer } from 'node:net';
import { createServer } from 'node:net';

import { loadCLibrary } from '../../machine/c-library.ts';

/** How many connections may be accepted in one turn of the event loop; their handshakes come in the turns after it. */
const perTurn = 16;
/** `fcntl`: another descriptor of the same socket, closed when the process starts another program. */
const F_DUPFD_CLOEXEC = 1030;

/**
 * Further descriptors of a listening socket. libuv accepts one connection of each in a turn of the event loop: with a
 * single one, 2,000 clients that connect at once keep everybody who connects after them waiting for 2,000 turns. Empty
 * where descriptors cannot be duplicated.
 */
export async function openAcceptors(server: NetServer): Promise<readonly NetServer[]> {
  const library = await loadCLibrary();
  const fd = descriptorOf(server);
  if (library === undefined || fd === undefined) return [];
  const duplicate = library.define<(fd: number, command: number, least: number) => number>(
    'int fcntl(int fd, int command, int least)',
  );
  const acceptors: NetServer[] = [];
  for (let count = 1; count < perTurn; count++) {
    const copy = duplicate(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) break; // no descriptor is left: the others do
    const acceptor = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 15_000 });
    acceptor.on('error', () => undefined); // as on the listener: the next attempt may not fail
    acceptor.listen({ fd: copy });
    acceptors.push(acceptor);
  }
  return acceptors;
}

/** Node has no public name for it; it is gone when the server is closed. */
const descriptorOf = (server: NetServer): number | undefined =>
  (server as { readonly _handle?: { readonly fd?: number } | null })._handle?.fd;
