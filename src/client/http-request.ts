import type { ApiCall } from './transport.ts';
import { headersOf, urlOf } from './transport.ts';

/** Writes requests to one server as they are sent. Throws for what would be read as more than one line. */
export class RequestWriter {
  /** In front of every path. */
  readonly #prefix: string;
  /** The headers of every request. */
  readonly #headers: string;

  constructor(server: string, userAgent: string) {
    const { host, pathname } = new URL(server);
    this.#prefix = pathname.replace(/\/$/, '');
    this.#headers = `Host: ${host}\r\n${line('User-Agent', userAgent)}`;
  }

  /** The text of a request, in the name of whom the token is. */
  write(call: ApiCall, token: string | undefined): string {
    const url = this.#prefix + urlOf(call);
    if (!/^[\x21-\x7e]+$/.test(url)) throw new TypeError(`a path that must be escaped: ${JSON.stringify(url)}`);
    let text = `${call.method} ${url} HTTP/1.1\r\n${this.#headers}`;
    for (const [name, value] of Object.entries(headersOf(call))) text += line(name, value);
    if (token !== undefined) {
      // Not told: a token does not belong into a log.
      if (!isPrintable(token)) throw new TypeError('the token has characters that cannot be sent');
      text += `Authorization: Bearer ${token}\r\n`;
    }
    if (call.body === undefined) return `${text}\r\n`;
    return `${text}Content-Length: ${Buffer.byteLength(call.body)}\r\n\r\n${call.body}`;
  }
}

const isPrintable = (text: string): boolean => /^[\x20-\x7e]*$/.test(text);

function line(name: string, value: string): string {
  if (!isPrintable(value)) throw new TypeError(`a header that cannot be sent: ${name}: ${JSON.stringify(value)}`);
  return `${name}: ${value}\r\n`;
}
