import type { Kind } from '../../api/kind.ts';
import { openApiDocument, openApiIndex, openApiV2 } from '../openapi/openapi.ts';
import { openApiOutline, outlineTypes } from '../openapi/outline.ts';
import type { ApiRequest, Reply } from '../reply.ts';
import { parseAccept } from '../negotiate/accept.ts';
import { documentReply } from './document-reply.ts';

/** Kept for a year, since the hash in the URL changes with the document. */
const yearMs = 31_536_000_000;

/** `/openapi/v2`, `/openapi/v3` and `/openapi/v3/{group version}`. Undefined: none of them. */
export function openApiReply(
  path: string,
  query: URLSearchParams,
  { request, kinds }: { readonly request: ApiRequest; readonly kinds: readonly Kind[] },
): Reply | undefined {
  if (path === '/openapi/v2') return documentReply(request, wantsOutline(request) ? openApiOutline : openApiV2(kinds));
  if (path === '/openapi/v3') return documentReply(request, openApiIndex(kinds));
  if (!path.startsWith('/openapi/v3/')) return undefined;
  const document = openApiDocument(kinds, path.slice('/openapi/v3/'.length));
  if (document === undefined) return { status: 404, headers: {}, body: '' };
  const hash = query.get('hash');
  if (hash === null) return documentReply(request, document);
  if (hash === document.hash) return documentReply(request, document, immutable());
  return { status: 301, headers: { Location: `${path}?hash=${document.hash}` }, body: '' };
}

/** kubectl takes nothing but the protobuf form; whoever takes JSON as well gets that. */
function wantsOutline(request: ApiRequest): boolean {
  const types = parseAccept(request.header('accept') ?? '').map(({ type }) => type);
  return types.length > 0 && types.every((type) => outlineTypes.includes(type));
}

const immutable = (): Record<string, string> => ({
  'Cache-Control': 'public, immutable',
  Expires: new Date(Date.now() + yearMs).toUTCString(),
});
