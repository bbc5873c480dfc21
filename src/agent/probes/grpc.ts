// The gRPC health check, `grpc.health.v1.Health/Check`, over plain HTTP/2.
import { connect } from 'node:http2';
import { joinHostPort } from '../../api/addresses.ts';
import { messageOf } from '../../api/error-message.ts';

const serving = 1;
const names = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];
const maxBytes = 4096;

/** Asks a server for the health of a service; '' stands for the server. Returns why it does not serve; undefined: it does. */
export function checkGrpc(
  host: string,
  port: number,
  service: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const address = joinHostPort(host, port);
  return new Promise((resolve, reject) => {
    const session = connect(`http://${address}`);
    const end = (finish: () => void): void => {
      signal.removeEventListener('abort', abort);
      session.destroy();
      finish();
    };
    const fail = (error: unknown): void =>
      end(() => reject(new Error(`error: failed to connect service "${address}": ${messageOf(error)}`)));
    const abort = (): void => end(() => reject(new Error('aborted')));
    signal.addEventListener('abort', abort, { once: true });
    session.on('error', fail);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let received: Buffer = Buffer.alloc(0);
    let status: string | undefined;
    let text = '';
    const note = (headers: { readonly [name: string]: string | string[] | number | undefined }): void => {
      if (headers['grpc-status'] === undefined) return;
      status = String(headers['grpc-status']);
      text = String(headers['grpc-message'] ?? '');
    };
    stream.on('response', note);
    stream.on('trailers', note);
    stream.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length > maxBytes) fail(new Error('the response is too long'));
    });
    stream.on('error', fail);
    stream.on('end', () =>
      end(() => {
        if (status !== '0')
          return resolve(`error: health rpc failed: rpc error: code = ${status ?? 'none'} desc = ${text}`);
        const found = servingStatus(received);
        resolve(found === serving ? undefined : `service unhealthy (responded with "${names[found] ?? found}")`);
      }),
    );
    stream.end(requestFor(service));
  });
}

/** A message with one field, number 1 of type string, in the frame of gRPC. */
function requestFor(service: string): Buffer {
  const name = Buffer.from(service);
  const message = name.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.of(0x0a, ...varint(name.length)), name]);
  const frame = Buffer.alloc(5);
  frame.writeUInt32BE(message.length, 1);
  return Buffer.concat([frame, message]);
}

function varint(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}

/** Field 1 of the response, an enumeration; 0 if it is absent. */
const servingStatus = (frame: Buffer): number => (frame[5] === 0x08 ? (frame[6] ?? 0) : 0);
