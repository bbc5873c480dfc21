import type { Server as NetServer } from 'node:net';
import { createServer } from 'node:net';

import { loadCLibrary } from '../../machine/c-library.ts';

/** Connections accepted in one turn of the event loop; their handshakes run in the following turns. */
const perTurn = 16;
/** The `fcntl` command that duplicates a descriptor with close-on-exec set. */
const F_DUPFD_CLOEXEC = 1030;

/**
 * Duplicates the descriptor of a listening socket. libuv accepts one connection per descriptor and turn of the event loop:
 * with a single one, 2,000 clients that connect at once delay later clients by 2,000 turns. Returns no acceptors
 * where native calls are not available.
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
    if (copy < 0) break; // out of descriptors: continue with fewer acceptors
    const acceptor = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 15_000 });
    acceptor.on('error', () => undefined); // as on the listener: the next accept may succeed
    acceptor.listen({ fd: copy });
    acceptors.push(acceptor);
  }
  return acceptors;
}

/** Node has no public API for the descriptor; it is undefined once the server is closed. */
const descriptorOf = (server: NetServer): number | undefined =>
  (server as { readonly _handle?: { readonly fd?: number } | null })._handle?.fd;
