// A stand-in for ELBv2 and EC2 with their protocols, so that the real SDK is used, and the rules that matter. It can fail
// calls, lose responses, throttle, and return outdated lists.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as bodyOf } from 'node:stream/consumers';

import { calls } from './calls.ts';
import { Account } from './account.ts';
import { ec2Calls } from './security-groups.ts';
import type { Input } from './wire.ts';
import { answerXml, ec2AnswerXml, ec2ErrorXml, ElbError, errorXml, readForm, text } from './wire.ts';

/** How a call fails. */
export interface Failure {
  /** Whether the call is executed nevertheless. */
  readonly isDone: boolean;
  /** undefined: the connection closes without a response. */
  readonly error?: { readonly status: number; readonly code: string; readonly retryAfter?: string };
}

/** Returns whether the next call fails. */
export type InjectFault = (action: string, number: number) => Failure | undefined;

/** The throttling error of AWS. */
export const throttling: Failure = {
  isDone: false,
  error: { status: 400, code: 'Throttling' },
};

export class StandIn implements AsyncDisposable {
  readonly account = new Account();
  /** All actions in order. */
  readonly actions: string[] = [];
  injectFault: InjectFault = () => undefined;
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  static async start(): Promise<StandIn> {
    const standIn = new StandIn();
    standIn.#server.listen(0, '127.0.0.1');
    await once(standIn.#server, 'listening');
    return standIn;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`; // A cast: it listens on a port.
  }

  /** The write actions since the last call. */
  takeWrites(): readonly string[] {
    return this.actions.splice(0).filter((action) => !action.startsWith('Describe'));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const input = readForm(await bodyOf(request));
    const action = text(input, 'Action');
    this.actions.push(action);
    const failure = this.injectFault(action, this.actions.length);
    const signedFor = /\/(\w+)\/aws4_request/.exec(request.headers.authorization ?? '')?.[1];
    const answer = failure?.isDone === false ? undefined : this.#answer(action, input, signedFor);
    if (failure === undefined && answer !== undefined) return void response.writeHead(answer.status).end(answer.body);
    if (failure?.error === undefined) return void request.socket.destroy();
    const { status, code, retryAfter } = failure.error;
    const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
    const error = { code, message: `${code}: as the test requested` };
    response.writeHead(status, headers).end(action in ec2Calls ? ec2ErrorXml(error) : errorXml(error));
  }

  #answer(action: string, input: Input, signedFor = ''): { readonly status: number; readonly body: string } {
    const ofEc2 = ec2Calls[action];
    try {
      if (signedFor !== (ofEc2 === undefined ? 'elasticloadbalancing' : 'ec2'))
        throw new ElbError('SignatureDoesNotMatch', `${action} is signed for '${signedFor}'`, 403);
      if (ofEc2 !== undefined)
        return { status: 200, body: ec2AnswerXml(action, ofEc2(this.account.securityGroups, input)) };
      const call = calls[action];
      if (call === undefined) throw new ElbError('InvalidAction', `there is no ${action} here`);
      return { status: 200, body: answerXml(action, call(this.account, input)) };
    } catch (error) {
      if (!(error instanceof ElbError)) throw error;
      return { status: error.status, body: ofEc2 === undefined ? errorXml(error) : ec2ErrorXml(error) };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
