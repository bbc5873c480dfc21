// Functions on maps.

/** The value of a key, which is computed and stored if there is none. Node has this method from version 26 on only. */
export function getOrCompute<K, V>(
  map: { get(key: K): V | undefined; has(key: K): boolean; set(key: K, value: V): unknown },
  key: K,
  compute: () => V,
): V {
  const present = map.get(key);
  if (present !== undefined || map.has(key)) return present as V; // `present` is undefined only if V includes it
  const value = compute();
  map.set(key, value);
  return value;
}
