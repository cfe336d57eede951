/** Everything that remembers values by key: maps, also weak ones. */
interface Memory<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** The value of a key, computed on first use. */
export function remembered<Key, Value>(memory: Memory<Key, Value>, key: Key, compute: () => Value): Value {
  const known = memory.get(key);
  if (known !== undefined) return known;
  const value = compute();
  memory.set(key, value);
  return value;
}
