// Signed messages to one server, and their checked answers.
import { randomInt } from 'node:crypto';
import { joinHostPort } from '../../../api/addresses.ts';
import type { Clock } from '../../../client/clock.ts';
import { rcodeName, rcodes, tsigErrors } from '../../../dnswire/codes.ts';
import type { Message } from '../../../dnswire/message.ts';
import { isResponse, rcodeOf, readMessage } from '../../../dnswire/message.ts';
import type { TsigKey, TsigVerdict } from '../../../dnswire/tsig.ts';
import { TsigExchange } from '../../../dnswire/tsig.ts';
import { yieldToEventLoop } from '../../../machine/timers.ts';
import { ProviderError } from '../provider.ts';
import type { ServerAddress } from './connection.ts';
import { ConnectionError, DnsConnection } from './connection.ts';

/** A server answered with an error. */
export class AnswerError extends ProviderError {
  readonly rcode: number;
  /** The server rejected the signature, or its own cannot be trusted: another message would fail as well. */
  readonly isAboutKey: boolean;

  constructor(message: string, { rcode, isAboutKey }: { readonly rcode: number; readonly isAboutKey: boolean }) {
    super(message);
    this.rcode = rcode;
    this.isAboutKey = isAboutKey;
  }
}

export interface ServerOptions {
  readonly clock: Clock;
  /** undefined: messages are not signed. */
  readonly key: () => TsigKey | undefined;
  readonly timeoutMs: number;
  /** Called for every message sent and received. */
  readonly onMessage?: () => void;
}

/** How long an unused connection stays open. Knot closes it after 10 s. */
const idleMs = 5000;
/** How long an answer of many messages may take, in times of the timeout of one. */
const longestAnswer = 60;

/** A server, with a connection that is opened when it is needed. */
export class Server implements Disposable {
  readonly #to: ServerAddress;
  readonly #options: ServerOptions;
  #connection: DnsConnection | undefined;
  #cancelIdle: () => void = () => undefined;

  constructor(to: ServerAddress, options: ServerOptions) {
    this.#to = to;
    this.#options = options;
  }

  get name(): string {
    return joinHostPort(this.#to.address, this.#to.port);
  }

  /** Sends a message, which `encode` makes with an id, and passes on each message of the answer until `isLast` holds. */
  async exchange(
    encode: (id: number) => Uint8Array,
    isLast: (message: Message) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const { key, clock, timeoutMs, onMessage } = this.#options;
    const endMs = clock.elapsed() + longestAnswer * timeoutMs;
    const secret = key();
    const connection = this.#open();
    const tsig = secret && new TsigExchange(secret, () => Math.floor(clock.now() / 1000));
    const id = randomInt(0x1_0000);
    const query = encode(id);
    try {
      connection.send(tsig?.sign(query) ?? query);
      onMessage?.();
      for (;;) {
        const bytes = await connection.receive(signal);
        onMessage?.();
        const message = readMessage(bytes);
        if (message?.header.id !== id || !isResponse(message.header))
          throw new ConnectionError(`DNS server ${this.name}: malformed answer`);
        this.#check(message, tsig?.verify(bytes), secret);
        if (isLast(message)) break;
        if (clock.elapsed() > endMs)
          throw new ConnectionError(
            `DNS server ${this.name}: its answer has not ended after ${(longestAnswer * timeoutMs) / 1000} s`,
          );
        // A fast server must not keep everything else in the process waiting.
        await yieldToEventLoop();
      }
      if (tsig?.isComplete === false) throw this.#keyError(rcodes.NOTAUTH, 'the end of its answer is not signed');
      this.#closeLater();
    } catch (error) {
      // After an error that was one message the connection can be used. Otherwise more of this answer may arrive.
      if (error instanceof AnswerError && !error.isAboutKey) this.#closeLater();
      else this[Symbol.dispose]();
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#cancelIdle();
    this.#connection?.[Symbol.dispose]();
    this.#connection = undefined;
  }

  #closeLater(): void {
    this.#cancelIdle = this.#options.clock.after(idleMs, () => this[Symbol.dispose]());
  }

  #open(): DnsConnection {
    this.#cancelIdle();
    if (this.#connection?.isOpen !== true) this.#connection = new DnsConnection(this.#to, this.#options);
    return this.#connection;
  }

  /** Throws unless the message is a success that can be trusted. */
  #check(message: Message, verdict: TsigVerdict | undefined, key: TsigKey | undefined): void {
    const rcode = rcodeOf(message);
    switch (verdict?.state) {
      case undefined:
      case 'valid':
      case 'pending':
        break;
      case 'rejected':
        throw this.#keyError(rcode, this.#rejection(verdict, key?.name ?? ''));
      case 'forged':
        throw this.#keyError(
          rcode,
          `the signature of its answer is wrong: check the secret of key "${key?.name ?? ''}"`,
        );
      case 'mistimed':
        throw this.#keyError(
          rcode,
          `its answer was signed ${this.#skew(verdict.serverSeconds)}: synchronize the clocks`,
        );
      case 'malformed':
        throw new ConnectionError(`DNS server ${this.name}: malformed answer`);
      case 'unsigned':
        // Servers may not sign errors. Such an answer is shown, and never taken for a result.
        if (rcode === rcodes.NOERROR) throw this.#keyError(rcode, 'its answer is not signed');
        break;
    }
    if (rcode === rcodes.NOERROR) return;
    throw new AnswerError(`DNS server ${this.name} answered ${rcodeName(rcode)}: ${meaningOf(rcode, key)}`, {
      rcode,
      isAboutKey: false,
    });
  }

  #rejection({ error, serverSeconds }: TsigVerdict & { readonly state: 'rejected' }, key: string): string {
    switch (error) {
      case tsigErrors.BADSIG:
        return `BADSIG: the secret of key "${key}" differs from the server's`;
      case tsigErrors.BADKEY:
        return `BADKEY: key "${key}" is unknown there, has another algorithm, or is not allowed to do this`;
      case tsigErrors.BADTIME:
        return `BADTIME: ${serverSeconds === undefined ? 'the clocks differ' : `its clock is ${this.#skew(serverSeconds)}`}: synchronize the clocks`;
      case tsigErrors.BADTRUNC:
        return 'BADTRUNC: the server requires a longer signature';
      default:
        return `TSIG error ${error}`;
    }
  }

  #skew(serverSeconds: number): string {
    const seconds = Math.round(serverSeconds - this.#options.clock.now() / 1000);
    return `${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} ours`;
  }

  #keyError(rcode: number, why: string): AnswerError {
    return new AnswerError(`DNS server ${this.name}: ${why}`, { rcode, isAboutKey: true });
  }
}

/** What a response code means here, and what to do. */
function meaningOf(rcode: number, key: TsigKey | undefined): string {
  const who = key === undefined ? 'messages without a key are' : `key "${key.name}" is`;
  switch (rcode) {
    case rcodes.FORMERR:
      return 'it does not accept the message';
    case rcodes.SERVFAIL:
      return 'it could not apply it; BIND allows 100 records in a set (max-records-per-type)';
    case rcodes.REFUSED:
      return `${who} not allowed to do this: check update-policy and allow-transfer, or the ACL`;
    case rcodes.NOTAUTH:
      return key === undefined
        ? 'it does not serve the zone, or requires a key: pass --tsig-key-file'
        : 'it does not serve the zone as a primary';
    case rcodes.NOTZONE:
      return 'a name is outside the zone';
    case rcodes.NOTIMP:
      return 'it does not support this: use the primary server of the zone';
    default:
      return 'the zone has changed meanwhile';
  }
}
