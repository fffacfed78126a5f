/**
 * Entries that all live equally long, oldest first, under one timer that does not keep the process alive. Bounded: beyond `limit`
 * the oldest entry goes before its time.
 */
interface Entry<Value> {
  value: Value;
  due: number;
}

export class ExpiryQueue<Key, Value> {
  readonly #entries = new Map<Key, Entry<Value>>();
  readonly #lifetime: number;
  readonly #limit: number;
  readonly #expired: (key: Key, value: Value) => void;
  #timer: NodeJS.Timeout | undefined;

  /** @param lifetime in milliseconds @param expired called for each entry that times out or is pushed out by the limit */
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

  /** As `get()`, but not what is due already and not swept yet. */
  unexpired(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    return entry && entry.due > performance.now() ? entry.value : undefined;
  }

  add(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, due: performance.now() + this.#lifetime });
    if (this.#entries.size > this.#limit) this.#expireOldest();
    this.#timer ??= this.#arm(this.#lifetime);
  }

  delete(key: Key): boolean {
    return this.#entries.delete(key);
  }

  values(): Value[] {
    return Array.from(this.#entries.values(), (entry) => entry.value);
  }

  /** Forgets everything, without calling `expired`. */
  clear(): void {
    this.#entries.clear();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(delay: number): NodeJS.Timeout {
    return setTimeout(() => this.#sweep(), Math.max(1, Math.ceil(delay))).unref();
  }

  #expireOldest(): void {
    const oldest = this.#entries.entries().next();
    if (oldest.done) return;
    const [key, entry] = oldest.value;
    this.#entries.delete(key);
    this.#expired(key, entry.value);
  }

  #sweep(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const { due } of this.#entries.values()) {
      if (due > now) {
        this.#timer ??= this.#arm(due - now);
        return;
      }
      this.#expireOldest();
    }
  }
}
