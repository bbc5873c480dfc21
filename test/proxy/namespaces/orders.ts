/** What an agent in a namespace can be told. */
export type Order =
  | { readonly do: 'serve'; readonly name: string; readonly port: number }
  | {
      readonly do: 'dial';
      readonly address: string;
      readonly port: number;
      readonly count: number;
      readonly timeoutMs: number;
    }
  | {
      readonly do: 'send';
      /** The name of the socket: the same name is the same socket. */
      readonly id: string;
      readonly address: string;
      readonly port: number;
      readonly timeoutMs: number;
    }
  | { readonly do: 'load'; readonly address: string; readonly port: number; readonly parallel: number }
  | { readonly do: 'stop' }
  /** How many connections and datagrams have come to what it serves. */
  | { readonly do: 'heard' }
  /** The first packet of an SCTP association, which no socket of many a kernel can send. */
  | { readonly do: 'associate'; readonly address: string; readonly port: number; readonly fromPort: number };
