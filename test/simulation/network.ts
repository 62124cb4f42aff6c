import type { FakeTime, Millis } from '#kernel';
import type { Chance } from './chance.js';
import { RefusedCommand } from './control-plane.js';
import type { ControlPlane } from './control-plane.js';

/** No answer in time, a refused connection, or a fault of the server: all the caller knows is to try again. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

export interface NetworkOptions {
  readonly time: FakeTime;
  readonly planes: () => readonly ControlPlane[];
  /** Whether messages of this caller get lost now, either way. */
  readonly cut: (caller: string) => boolean;
  /** Whether single messages are lost, late or doubled. */
  readonly stormy: () => boolean;
}

export interface Call {
  /** Milliseconds until the caller gives up. */
  readonly timeout?: Millis;
  /** The message may be repeated by the network, once more and later. */
  readonly repeatable?: boolean;
}

/** Requests from agents and people to the control planes, over a network that loses, delays and repeats. */
export class Network {
  private readonly favourites = new Map<string, number>();

  constructor(
    private readonly options: NetworkOptions,
    private readonly chance: Chance,
  ) {}

  /** Callers mostly stay with one control plane until it fails them, as behind a load balancer. */
  call<Answer>(
    caller: string,
    request: (plane: ControlPlane) => Promise<Answer>,
    { timeout = 5_000, repeatable = false }: Call = {},
  ): Promise<Answer> {
    const { time, stormy } = this.options;
    const strays = stormy() && this.chance.happens(0.1);
    const place = (strays ? undefined : this.favourites.get(caller)) ?? this.chance.int(0, 9);
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        timer.cancel();
        if (!(error instanceof RefusedCommand)) this.favourites.set(caller, this.chance.int(0, 9));
        reject(error);
      };
      const answer = (value: Answer): void => {
        timer.cancel();
        this.favourites.set(caller, place);
        resolve(value);
      };
      const timer = time.after(timeout, () => fail(new NoAnswer('timeout')));
      this.pass(caller, () => this.deliver(caller, place, request, answer, fail));
      if (repeatable && stormy() && this.chance.happens(0.02)) {
        const ignore = (): void => undefined;
        time.after(this.chance.int(0, 20_000), () => this.deliver(caller, place, request, ignore, ignore));
      }
    });
  }

  private deliver<Answer>(
    caller: string,
    place: number,
    request: (plane: ControlPlane) => Promise<Answer>,
    answer: (value: Answer) => void,
    fail: (error: Error) => void,
  ): void {
    const planes = this.options.planes();
    const plane = planes[place % planes.length]!;
    if (!plane.serving) return this.pass(caller, () => fail(new NoAnswer('connection refused')));
    request(plane).then(
      (value) => this.pass(caller, () => answer(value)),
      (error: unknown) =>
        this.pass(caller, () => fail(error instanceof RefusedCommand ? error : new NoAnswer(String(error)))),
    );
  }

  /** One way over the network; what is lost is never heard of again. */
  private pass(caller: string, arrive: () => void): void {
    const { time, cut, stormy } = this.options;
    const lost = cut(caller) || (stormy() && this.chance.happens(0.005));
    if (lost) return;
    const late = stormy() && this.chance.happens(0.02);
    const span = late ? this.chance.int(100, 4_000) : this.chance.int(1, 20);
    time.after(span, () => !cut(caller) && arrive());
  }
}
