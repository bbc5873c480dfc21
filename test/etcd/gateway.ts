/** Calls a method of etcd through its JSON gateway, as an operator does with etcdctl. */
export async function callEtcd(
  url: string,
  method: string,
  body: Readonly<Record<string, unknown>> = {},
  token?: string,
): Promise<Readonly<Record<string, unknown>>> {
  const headers = token === undefined ? {} : { authorization: token };
  const response = await fetch(`${url}/v3/${method}`, { method: 'POST', body: JSON.stringify(body), headers });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method}: ${text}`);
  return JSON.parse(text) as Readonly<Record<string, unknown>>;
}
