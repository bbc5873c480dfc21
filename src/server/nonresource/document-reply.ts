import type { Document } from '../discovery/document.ts';
import type { ApiRequest, Reply } from '../reply.ts';

/** A document with its ETag; 304 when the client has it already. */
export function documentReply(
  request: ApiRequest,
  document: Omit<Document, 'body'> & { readonly body: string | Buffer },
  headers: Record<string, string> = {},
): Reply {
  const shared = { ETag: document.etag, Vary: 'Accept', 'Cache-Control': 'public', ...headers };
  if (request.header('if-none-match') === document.etag) return { status: 304, headers: shared, body: '' };
  return { status: 200, headers: { ...shared, 'Content-Type': document.contentType }, body: document.body };
}
