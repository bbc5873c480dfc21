// Large responses in every encoding, clients that do not read them, and many clients at once.

import type { TLSSocket } from 'node:tls';
import { connect } from 'node:tls';

import type { HostileCase, Place } from '../case.ts';
import { crowd } from '../case.ts';
import type { HostileRequest } from '../client.ts';
import { collections } from '../stage.ts';

/** Objects of a list, 30 MB in total. */
const objects = 40;
const objectLength = 750_000;
const text = 'a line of text\n'.repeat(objectLength / 15);

const list = ({ namespace }: Place): string => collections.configmaps(namespace);

function* largeObjects(place: Place): Generator<HostileRequest> {
  for (let index = 0; index < objects; index++) {
    const body = JSON.stringify({ metadata: { name: `hostile-${index}`, labels: { hostile: '' } }, data: { text } });
    yield { method: 'POST', path: list(place), body };
  }
}

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const encodings: readonly (readonly [name: string, headers: Readonly<Record<string, string>>, query?: string])[] = [
  ['JSON', {}],
  ['pretty JSON', { 'user-agent': 'curl/8.0' }],
  ['YAML', { accept: 'application/yaml' }],
  ['gzip', { 'accept-encoding': 'gzip' }],
  ['a table', { accept: table }],
  ['a table without objects', { accept: table }, '?includeObject=None'],
  ['metadata', { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' }],
  ['JSON by labels', {}, '?labelSelector=!none'],
  ['JSON by fields', {}, '?fieldSelector=metadata.name!=none'],
];

const lists = encodings.map(([name, headers, query = '']) =>
  crowd(
    `a list of 30 MB as ${name}`,
    20,
    (place) => ({ method: 'GET', path: `${list(place)}${query}`, headers }),
    largeObjects,
  ),
);

const requestOf = ({ server }: Place, path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: hostile\r\nAuthorization: Bearer ${server.target.token ?? ''}\r\n\r\n`;

function open({ server: { target } }: Place): TLSSocket {
  const { hostname, port } = new URL(target.url);
  const { ca, insecure } = target;
  const socket = connect({ host: hostname, port: Number(port), ca, rejectUnauthorized: !insecure });
  return socket.on('error', () => undefined); // a server that hangs up is what a case is for
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) =>
    AbortSignal.any([signal, AbortSignal.timeout(ms)]).addEventListener('abort', () => resolve()),
  );

/** Keeps connections with one request each open for a while; then checks by one request whether the server answers. */
const held = (
  name: string,
  count: number,
  { path, reads, ms }: { readonly path: (place: Place) => string; readonly reads: boolean; readonly ms: number },
): HostileCase => ({
  name: `${count} ${name}`,
  prepare: largeObjects,
  async attack(place, signal) {
    const sockets: TLSSocket[] = [];
    for (let at = 0; at < count && !signal.aborted; at += 100) {
      const group = Array.from({ length: 100 }, () => open(place));
      sockets.push(...group);
      await Promise.all(
        group.map((socket) => new Promise((resolve) => socket.once('secureConnect', resolve).once('close', resolve))),
      );
      for (const socket of group) {
        if (reads) socket.resume();
        else socket.pause();
        socket.write(requestOf(place, path(place)));
      }
    }
    await pause(ms, signal);
    for (const socket of sockets) socket.destroy();
    return [await place.server.send({ method: 'GET', path: '/version' }, signal)];
  },
});

/** Clients that send the next request as soon as they have a response. */
const closedLoops = (count: number): HostileCase => ({
  name: `${count} clients without a pause`,
  async attack(place, signal) {
    const path = `${list(place)}/bystander`;
    const sockets = Array.from({ length: count }, () => open(place));
    for (const socket of sockets) {
      const ask = (): void => void socket.write(requestOf(place, path));
      socket.on('secureConnect', ask).on('data', (chunk: Buffer) => {
        if (chunk.includes('HTTP/1.1')) ask();
      });
    }
    await pause(10_000, signal);
    for (const socket of sockets) socket.destroy();
    return [await place.server.send({ method: 'GET', path: '/version' }, signal)];
  },
});

export const answers: readonly HostileCase[] = [
  ...lists,
  held('clients that ask for 30 MB and do not read', 200, { path: list, reads: false, ms: 5000 }),
  held('watches of 30 MB that are not read', 200, {
    path: (place) => `${list(place)}?watch=1`,
    reads: false,
    ms: 5000,
  }),
  held('watches that are opened and dropped', 1000, {
    path: (place) => `${list(place)}?watch=1&fieldSelector=metadata.name=bystander`,
    reads: true,
    ms: 1000,
  }),
  closedLoops(1900),
];
