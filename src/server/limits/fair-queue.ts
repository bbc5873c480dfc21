/** The capacity of one queue, in seats; an ordinary request takes one seat. */
export interface QueueLimits {
  /** No request starts while this many seats are in use. */
  readonly seats: number;
  /** No request of a flow starts while the flow uses this many seats. */
  readonly seatsPerFlow: number;
  /**
   * Seats that may be taken in one turn of the event loop: by a flow while other flows are active (`shared`), by the only
   * active flow (`exclusive`), and by all flows together. Further requests wait for the next turn.
   */
  readonly seatsPerTurn: { readonly shared: number; readonly exclusive: number; readonly total: number };
  /** Requests that may wait, in total and per flow. */
  readonly waiting: number;
  readonly waitingPerFlow: number;
}

/** What the queue needs from its owner, since it has no event loop of its own. */
export interface QueueOwner {
  /** Must arrange a call of `nextTurn` at the end of this turn of the event loop. */
  scheduleNextTurn(): void;
  /** Whether any other flow is active. */
  hasOtherFlows(flow: string): boolean;
}

/** A waiting request. Exactly one of the two is called, once. */
export interface Waiter {
  start(): void;
  reject(reason: RejectionReason): void;
}

/** Why a request is rejected, in the words of kube-apiserver's metrics. */
export type RejectionReason = 'queue-full' | 'time-out';

interface Waiting {
  readonly waiter: Waiter;
  readonly cost: number;
  readonly since: number;
}

interface Flow {
  readonly key: string;
  readonly waiting: Waiting[];
  /** Seats in use now. */
  seats: number;
  /** Seats taken in the turn `turn`. */
  started: number;
  turn: number;
  /** Virtual time at which its next request is due. */
  due: number;
}

/**
 * Shares seats between flows by start-time fair queuing. It has no clock and no timers; its owner supplies both.
 *
 *     enter ──► seat free ───────────────────────────► runs ──► leave
 *        └────► no seat ──► wait ──► earliest due flow ──┘
 *                             └────► rejected: queue full, or timed out
 *
 * Starting a request advances its flow's due time by the cost of the request, and the flow with the earliest due time
 * starts next. Flows with a constant backlog therefore get equal shares of the seats, and a flow that was idle is next.
 * Requests of one flow start in order.
 */
export class FairQueue {
  readonly #limits: QueueLimits;
  readonly #owner: QueueOwner;
  readonly #flows = new Map<string, Flow>();
  /** Flows with waiting requests. */
  readonly #backlogged = new Set<Flow>();
  #seats = 0;
  #waiting = 0;
  /** The due time of the request that started last. */
  #now = 0;
  #turn = 0;
  /** Seats taken by all flows in this turn. */
  #startedInTurn = 0;
  #isTurnScheduled = false;

  constructor(limits: QueueLimits, owner: QueueOwner) {
    this.#limits = limits;
    this.#owner = owner;
  }

  /** Seats in use. */
  get seats(): number {
    return this.#seats;
  }

  /** Waiting requests. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Takes seats if they are free and no request of the flow waits; if it returns false, call `wait`. */
  enter(key: string, cost: number): boolean {
    const flow = this.#flowOf(key);
    if (flow.waiting.length > 0 || !this.#mayStart(flow)) return false;
    this.#take(flow, cost);
    return true;
  }

  /** Queues the request; rejects it at once if the queue is full. */
  wait(key: string, cost: number, { waiter, now }: { readonly waiter: Waiter; readonly now: number }): void {
    const flow = this.#flowOf(key);
    if (flow.waiting.length >= this.#limits.waitingPerFlow || !this.#makeRoom(flow)) {
      waiter.reject('queue-full');
      return;
    }
    flow.waiting.push({ waiter, cost, since: now });
    this.#waiting++;
    this.#backlogged.add(flow);
  }

  /** Returns the seats and starts the requests that are due next. */
  leave(key: string, cost: number): void {
    const flow = this.#flowOf(key);
    flow.seats -= cost;
    this.#seats -= cost;
    if (this.#waiting > 0) this.#serve();
    // Keep the flow until the turn ends: requests that already finished still count towards its seats per turn.
    if (this.#limits.seatsPerTurn.shared === Infinity) this.#removeIfIdle(flow);
    else this.#scheduleTurn();
  }

  /** Called when a new turn of the event loop begins. */
  nextTurn(): void {
    this.#turn++;
    this.#startedInTurn = 0;
    this.#isTurnScheduled = false;
    // Requests that still wait need seats, which `leave` hands out; another turn is scheduled by the next start.
    this.#serve();
    for (const flow of this.#flows.values()) this.#removeIfIdle(flow);
  }

  /** Rejects the requests that have waited since before `time`. */
  expire(time: number): void {
    for (const flow of this.#backlogged) {
      while ((flow.waiting[0]?.since ?? Infinity) < time) this.#remove(flow, 0)?.waiter.reject('time-out');
    }
  }

  #serve(): void {
    while (this.#waiting > 0 && this.#seats < this.#limits.seats) {
      const flow = this.#dueFirst();
      if (flow === undefined) return;
      const next = this.#remove(flow, 0);
      if (next === undefined) return;
      this.#take(flow, next.cost);
      next.waiter.start();
    }
  }

  #dueFirst(): Flow | undefined {
    let first: Flow | undefined;
    for (const flow of this.#backlogged) {
      if ((first === undefined || flow.due < first.due) && this.#mayStart(flow)) first = flow;
    }
    return first;
  }

  /**
   * Does not count the cost of the request itself: a request may take more seats than are free, so that cheaper requests
   * cannot starve it.
   */
  #mayStart(flow: Flow): boolean {
    const { seats, seatsPerFlow, seatsPerTurn } = this.#limits;
    if (this.#seats >= seats || flow.seats >= seatsPerFlow || this.#startedInTurn >= seatsPerTurn.total) return false;
    if (flow.turn !== this.#turn || flow.started < seatsPerTurn.shared) return true;
    return flow.started < seatsPerTurn.exclusive && !this.#owner.hasOtherFlows(flow.key);
  }

  #take(flow: Flow, cost: number): void {
    this.#seats += cost;
    flow.seats += cost;
    flow.started = flow.turn === this.#turn ? flow.started + cost : cost;
    flow.turn = this.#turn;
    this.#startedInTurn += cost;
    this.#now = Math.max(this.#now, flow.due);
    flow.due = this.#now + cost;
    this.#scheduleTurn();
  }

  #remove(flow: Flow, index: number): Waiting | undefined {
    const [removed] = flow.waiting.splice(index, 1);
    if (removed !== undefined) this.#waiting--;
    if (flow.waiting.length === 0) this.#backlogged.delete(flow);
    return removed;
  }

  /** Makes room in a full queue: rejects the newest request of the flow with the most waiting requests. */
  #makeRoom(flow: Flow): boolean {
    if (this.#waiting < this.#limits.waiting) return true;
    let longest = flow;
    for (const other of this.#backlogged) if (other.waiting.length > longest.waiting.length) longest = other;
    if (longest.waiting.length <= flow.waiting.length + 1) return false;
    this.#remove(longest, longest.waiting.length - 1)?.waiter.reject('queue-full');
    return true;
  }

  #flowOf(key: string): Flow {
    const known = this.#flows.get(key);
    if (known !== undefined) return known;
    const flow: Flow = { key, waiting: [], seats: 0, started: 0, turn: -1, due: this.#now };
    this.#flows.set(key, flow);
    return flow;
  }

  #removeIfIdle(flow: Flow): void {
    if (flow.seats === 0 && flow.waiting.length === 0) this.#flows.delete(flow.key);
  }

  #scheduleTurn(): void {
    if (this.#isTurnScheduled || this.#limits.seatsPerTurn.shared === Infinity) return;
    this.#isTurnScheduled = true;
    this.#owner.scheduleNextTurn();
  }
}
