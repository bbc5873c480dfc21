// DNS and SIP servers in place of Pods, over UDP and TCP on one address and port.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

import * as dnsPacket from 'dns-packet';

/** Handles a datagram or data from a connection. */
type Answer = (question: Buffer, over: 'UDP' | 'TCP') => Buffer;

/** Listens for both protocols on one address and port. */
export async function serveBoth(address: string, port: number, answer: Answer): Promise<AsyncDisposable> {
  const udp = createSocket('udp4');
  udp.on('message', (question, from) => udp.send(answer(question, 'UDP'), from.port, from.address));
  udp.bind(port, address);
  const tcp = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', (question: Buffer) => socket.end(answer(question, 'TCP')));
  }).listen(port, address);
  await Promise.all([once(udp, 'listening'), once(tcp, 'listening')]);
  return {
    async [Symbol.asyncDispose]() {
      udp.close();
      tcp.close();
    },
  };
}

/** A DNS server that returns one address for every query. */
export const dnsAnswer: Answer = (question, over) => {
  const { id, questions = [] } = dnsPacket.decode(over === 'TCP' ? question.subarray(2) : question);
  const answers = questions.map(({ name }) => ({ name, type: 'A' as const, ttl: 5, data: '192.0.2.53' }));
  const answer = dnsPacket.encode({ type: 'response', id: id ?? 0, questions, answers });
  return over === 'UDP' ? answer : Buffer.concat([Buffer.from([answer.length >> 8, answer.length & 255]), answer]);
};

/** A SIP server that responds with the transport of the request. */
export const sipAnswer: Answer = (request, over) => {
  const via = /^Via: .*$/m.exec(request.toString())?.[0] ?? 'Via: none';
  return Buffer.from(`SIP/2.0 200 OK\r\n${via.trim()}\r\nServer: ${over}\r\nContent-Length: 0\r\n\r\n`);
};

const options = (over: string): string =>
  `OPTIONS sip:you@example.org SIP/2.0\r\nVia: SIP/2.0/${over} client.example.org\r\nMax-Forwards: 70\r\n` +
  'From: <sip:me@example.org>;tag=1\r\nTo: <sip:you@example.org>\r\nCall-ID: 1@client\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n';

const serverIn = (text: string): string => /^SIP\/2\.0 200 OK[^]*^Server: (\w+)/m.exec(text)?.[1] ?? text;

/** Sends an OPTIONS request to a SIP server; returns the transport in the response, or '' without a response. */
export async function sipOptions(over: 'UDP' | 'TCP', address: string, port: number): Promise<string> {
  const late = AbortSignal.timeout(500);
  try {
    if (over === 'TCP') {
      const socket = connect(port, address);
      try {
        socket.write(options(over));
        const [data] = (await once(socket, 'data', { signal: late })) as [Buffer];
        return serverIn(data.toString());
      } finally {
        socket.destroy();
      }
    }
    const socket = createSocket('udp4').on('error', () => {});
    try {
      socket.send(options(over), port, address);
      const [data] = (await once(socket, 'message', { signal: late })) as [Buffer];
      return serverIn(data.toString());
    } finally {
      socket.close();
    }
  } catch {
    return ''; // refused, or too late
  }
}
