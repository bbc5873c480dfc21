import { messageOf } from '../../api/error-message.ts';
import { failure } from '../../api/errors.ts';
import type { ServerContext } from '../context.ts';
import { tooManyRequests } from '../limits/flow-control.ts';
import type { ApiRequest, Reply, UpgradeReply } from '../reply.ts';

type StreamReplies = Reply | UpgradeReply;

/** Counts a stream from its request to its end, and terminates it when the server shuts down. */
export async function limited(
  { streams }: Pick<ServerContext, 'streams'>,
  request: ApiRequest,
  start: (signal: AbortSignal) => Promise<StreamReplies>,
): Promise<StreamReplies> {
  const ending = new AbortController();
  const release = streams.open(request, () => ending.abort(new Error('the server is shutting down')));
  if (release === undefined) return tooManyRequests();
  let reply: StreamReplies;
  try {
    reply = await start(ending.signal);
  } catch (error) {
    release();
    throw ending.signal.aborted
      ? failure({ code: 503, reason: 'ServiceUnavailable', message: messageOf(error) })
      : error;
  }
  if ('upgrade' in reply) {
    const upgraded = reply;
    return {
      ...reply,
      upgrade(socket, head) {
        socket.once('close', release);
        ending.signal.addEventListener('abort', () => socket.destroy());
        upgraded.upgrade(socket, head);
        if (socket.destroyed) release();
      },
    };
  }
  if ('stream' in reply) {
    const streamed = reply;
    return {
      ...reply,
      stream(sink) {
        sink.onClose(release);
        ending.signal.addEventListener('abort', () => sink.abort());
        streamed.stream(sink);
      },
    };
  }
  release();
  return reply;
}
