/** The commands of an agent in a namespace. */
export type Command =
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
  /** The number of connections and datagrams that its servers have received. */
  | { readonly do: 'received' }
  /** The first packet of an SCTP association, which many kernels cannot send from an SCTP socket. */
  | { readonly do: 'associate'; readonly address: string; readonly port: number; readonly fromPort: number };
