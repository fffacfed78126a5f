/**
 * Map whose entries expire after a lifetime that is the same for all entries.
 * The map has one timer, which does not keep the process alive.
 * If there are more than `limit` entries, the oldest one is removed early.
 * A separate list contains the entries by age, because it is slow to find the oldest entry of a large `Map`.
 * V8 walks over all deleted entries before it.
 * With the largest allowed number of tombstones, this walk would cost more than all other work for a flow.
 */
interface Entry<Key, Value> {
  key: Key;
  value: Value;
  due: number;
  older: Entry<Key, Value> | undefined;
  newer: Entry<Key, Value> | undefined;
}

export class ExpiryQueue<Key, Value> {
  readonly #entries = new Map<Key, Entry<Key, Value>>();
  readonly #lifetime: number;
  readonly #limit: number;
  readonly #expired: (key: Key, value: Value) => void;
  #oldest: Entry<Key, Value> | undefined;
  #newest: Entry<Key, Value> | undefined;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param lifetime in milliseconds
   * @param expired called for each entry that expires or is removed early
   */
  constructor(lifetime: number, limit: number, expired: (key: Key, value: Value) => void) {
    this.#lifetime = lifetime;
    this.#limit = limit;
    this.#expired = expired;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Returns the entry's value, like `get()`, but not if the entry has expired. */
  unexpired(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    return entry && entry.due > performance.now() ? entry.value : undefined;
  }

  /** @param limit replaces the usual limit in this call, if it is lower */
  add(key: Key, value: Value, limit = this.#limit): void {
    this.delete(key);
    const entry = { key, value, due: performance.now() + this.#lifetime, older: this.#newest, newer: undefined };
    if (this.#newest) this.#newest.newer = entry;
    else this.#oldest = entry;
    this.#newest = entry;
    this.#entries.set(key, entry);
    if (this.#entries.size > limit) this.#expireOldest();
    this.#timer ??= this.#arm(this.#lifetime);
  }

  delete(key: Key): boolean {
    const entry = this.#entries.get(key);
    if (!entry) return false;
    const { older, newer } = entry;
    if (older) older.newer = newer;
    else this.#oldest = newer;
    if (newer) newer.older = older;
    else this.#newest = older;
    return this.#entries.delete(key);
  }

  values(): Value[] {
    return Array.from(this.#entries.values(), (entry) => entry.value);
  }

  /** Removes all entries. `expired` is not called for them. */
  clear(): void {
    this.#entries.clear();
    this.#oldest = undefined;
    this.#newest = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(delay: number): NodeJS.Timeout {
    return setTimeout(() => this.#sweep(), Math.max(1, Math.ceil(delay))).unref();
  }

  #expireOldest(): void {
    const oldest = this.#oldest;
    if (!oldest) return;
    this.delete(oldest.key);
    this.#expired(oldest.key, oldest.value);
  }

  #sweep(): void {
    this.#timer = undefined;
    const now = performance.now();
    while (this.#oldest && this.#oldest.due <= now) this.#expireOldest();
    if (this.#oldest) this.#timer ??= this.#arm(this.#oldest.due - now);
  }
}
