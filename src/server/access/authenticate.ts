import { createHash, timingSafeEqual } from 'node:crypto';
import type { TLSSocket } from 'node:tls';

import type { User } from '../reply.ts';

/** A bearer token that stands for a user, as `--token-auth-file` lists them. */
export interface StaticToken {
  readonly token: string;
  readonly user: string;
  readonly uid: string;
  readonly groups: readonly string[];
}

export const anonymous: User = { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'] };

/** Tells who sends a request, by client certificate or bearer token. */
export class Authenticator {
  /** Tokens are compared by digest, in constant time. */
  readonly #tokens: readonly { readonly digest: Buffer; readonly user: User }[];
  /** A connection keeps its certificate, so its user is read once. */
  readonly #bySocket = new WeakMap<object, User>();
  /** Authorization headers that were right before: header → user. Never more than there are tokens. */
  readonly #known = new Map<string, User>();

  constructor(tokens: readonly StaticToken[]) {
    this.#tokens = tokens.map(({ token, user, uid, groups }) => ({
      digest: digestOf(token),
      user: authenticated({ name: user, uid, groups }),
    }));
  }

  /** The user; anonymous when no credentials were given; undefined when those given are wrong. */
  identify(socket: TLSSocket | undefined, authorization: string | undefined): User | undefined {
    if (authorization !== undefined) return this.#known.get(authorization) ?? this.#userOfHeader(authorization);
    if (socket === undefined) return anonymous;
    const known = this.#bySocket.get(socket);
    if (known !== undefined) return known;
    const user = userOfCertificate(socket);
    if (user !== undefined) this.#bySocket.set(socket, user);
    return user;
  }

  #userOfHeader(authorization: string): User | undefined {
    const token = /^bearer +(\S+)$/i.exec(authorization)?.[1];
    if (token === undefined) return undefined;
    const digest = digestOf(token);
    const user = this.#tokens.find((known) => timingSafeEqual(known.digest, digest))?.user;
    if (user !== undefined && this.#known.size < this.#tokens.length) this.#known.set(authorization, user);
    return user;
  }
}

const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();

const authenticated = (user: User): User => ({ ...user, groups: [...user.groups, 'system:authenticated'] });

function userOfCertificate(socket: TLSSocket): User | undefined {
  const certificate = socket.getPeerCertificate();
  if (certificate?.subject === undefined) return anonymous;
  if (!socket.authorized) return undefined;
  const { CN: name, O: organisations = [] } = certificate.subject;
  if (typeof name !== 'string' || name === '') return undefined;
  return authenticated({ name, uid: '', groups: [organisations].flat() });
}
