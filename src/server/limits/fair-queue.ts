/** How much may run and wait in one queue. Costs are in seats; an ordinary request takes one. */
export interface QueueLimits {
  /** Nothing starts while this many seats are taken. */
  readonly seats: number;
  /** Nothing of a flow starts while the flow has this many. */
  readonly seatsPerFlow: number;
  /**
   * Nothing of a flow starts in a turn of the event loop in which it took this many, in company or alone, and nothing at
   * all in one in which all flows together took `total`: whoever comes next waits for the end of the turn.
   */
  readonly seatsPerTurn: { readonly shared: number; readonly alone: number; readonly total: number };
  /** Requests that may wait, in all and of one flow. */
  readonly waiting: number;
  readonly waitingPerFlow: number;
}

/** What a queue asks of its owner. */
export interface QueueOwner {
  /** Is to call `nextTurn` at the end of this turn of the event loop. */
  onTurn(): void;
  /** Whether a flow has the server to itself. */
  isAlone(flow: string): boolean;
}

/** Someone who waits for a turn. One of the two is called, once. */
export interface Waiter {
  start(): void;
  refuse(why: Refusal): void;
}

/** Why a request is not answered: no place to wait in, or waited too long. */
export type Refusal = 'queue-full' | 'time-out';

interface Waiting {
  readonly waiter: Waiter;
  readonly cost: number;
  readonly since: number;
}

interface Flow {
  readonly key: string;
  readonly waiting: Waiting[];
  /** Seats taken now. */
  seats: number;
  /** Seats taken in the turn `turn`. */
  started: number;
  turn: number;
  /** Virtual time at which its next request is due. */
  due: number;
}

/**
 * Shares seats between flows. Pure: it knows no clock and no event loop; its owner tells it of both.
 *
 *     enter ──► seat free ─────────────────────────► runs ──► leave
 *        └────► none ──► wait ──► longest-served last ──┘
 *                          └────► refused: no place, or too long
 *
 * Every start moves its flow's due time on by what the request costs, and of the flows that may start the one that is
 * due first does (start-time fair queuing). So flows that always have something waiting get the same share of seats,
 * and one that has been away is next. Within a flow requests start in order.
 */
export class FairQueue {
  readonly #limits: QueueLimits;
  readonly #owner: QueueOwner;
  readonly #flows = new Map<string, Flow>();
  /** Flows that have someone waiting. */
  readonly #backlogged = new Set<Flow>();
  #seats = 0;
  #waiting = 0;
  /** The due time of what started last. */
  #now = 0;
  #turn = 0;
  /** Seats that all flows took in this turn. */
  #startedInTurn = 0;
  #isTurnAsked = false;

  constructor(limits: QueueLimits, owner: QueueOwner) {
    this.#limits = limits;
    this.#owner = owner;
  }

  /** Seats that are taken. */
  get seats(): number {
    return this.#seats;
  }

  /** Requests that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Takes seats at once if they are free and nobody of the flow waits; false: `wait`. */
  enter(key: string, cost: number): boolean {
    const flow = this.#flowOf(key);
    if (flow.waiting.length > 0 || !this.#mayStart(flow)) return false;
    this.#take(flow, cost);
    return true;
  }

  /** Waits for seats since `now`; refuses at once if there is no place to wait in. */
  wait(key: string, cost: number, { waiter, now }: { readonly waiter: Waiter; readonly now: number }): void {
    const flow = this.#flowOf(key);
    if (flow.waiting.length >= this.#limits.waitingPerFlow || !this.#makeRoom(flow)) {
      waiter.refuse('queue-full');
      return;
    }
    flow.waiting.push({ waiter, cost, since: now });
    this.#waiting++;
    this.#backlogged.add(flow);
  }

  /** Gives seats back; whoever is due next gets them. */
  leave(key: string, cost: number): void {
    const flow = this.#flowOf(key);
    flow.seats -= cost;
    this.#seats -= cost;
    if (this.#waiting > 0) this.#serve();
    // A flow is kept until the turn ends: what it has started in it counts, also when that is done.
    if (this.#limits.seatsPerTurn.shared === Infinity) this.#forget(flow);
    else this.#askTurn();
  }

  /** A new turn of the event loop has begun: every flow may start something again. */
  nextTurn(): void {
    this.#turn++;
    this.#startedInTurn = 0;
    this.#isTurnAsked = false;
    // What still waits after this waits for seats, which `leave` gives out; only a start makes another turn matter.
    this.#serve();
    for (const flow of this.#flows.values()) this.#forget(flow);
  }

  /** Refuses whoever has waited since before `time`. */
  expire(time: number): void {
    for (const flow of this.#backlogged) {
      while ((flow.waiting[0]?.since ?? Infinity) < time) this.#remove(flow, 0)?.waiter.refuse('time-out');
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
   * Seats are counted before, not after: a request that costs several may take more than are free, and so never waits
   * behind smaller ones for ever.
   */
  #mayStart(flow: Flow): boolean {
    const { seats, seatsPerFlow, seatsPerTurn } = this.#limits;
    if (this.#seats >= seats || flow.seats >= seatsPerFlow || this.#startedInTurn >= seatsPerTurn.total) return false;
    if (flow.turn !== this.#turn || flow.started < seatsPerTurn.shared) return true;
    return flow.started < seatsPerTurn.alone && this.#owner.isAlone(flow.key);
  }

  #take(flow: Flow, cost: number): void {
    this.#seats += cost;
    flow.seats += cost;
    flow.started = flow.turn === this.#turn ? flow.started + cost : cost;
    flow.turn = this.#turn;
    this.#startedInTurn += cost;
    this.#now = Math.max(this.#now, flow.due);
    flow.due = this.#now + cost;
    this.#askTurn();
  }

  #remove(flow: Flow, index: number): Waiting | undefined {
    const [removed] = flow.waiting.splice(index, 1);
    if (removed !== undefined) this.#waiting--;
    if (flow.waiting.length === 0) this.#backlogged.delete(flow);
    return removed;
  }

  /** When all places are taken, the flow that holds most of them gives one up, its latest. */
  #makeRoom(flow: Flow): boolean {
    if (this.#waiting < this.#limits.waiting) return true;
    let longest = flow;
    for (const other of this.#backlogged) if (other.waiting.length > longest.waiting.length) longest = other;
    if (longest.waiting.length <= flow.waiting.length + 1) return false;
    this.#remove(longest, longest.waiting.length - 1)?.waiter.refuse('queue-full');
    return true;
  }

  #flowOf(key: string): Flow {
    const known = this.#flows.get(key);
    if (known !== undefined) return known;
    const flow: Flow = { key, waiting: [], seats: 0, started: 0, turn: -1, due: this.#now };
    this.#flows.set(key, flow);
    return flow;
  }

  #forget(flow: Flow): void {
    if (flow.seats === 0 && flow.waiting.length === 0) this.#flows.delete(flow.key);
  }

  #askTurn(): void {
    if (this.#isTurnAsked || this.#limits.seatsPerTurn.shared === Infinity) return;
    this.#isTurnAsked = true;
    this.#owner.onTurn();
  }
}
