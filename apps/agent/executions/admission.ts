import type { Contract, Inventory } from '#contracts';

interface Asked {
  readonly what: string;
  readonly asked: number;
  readonly held: number;
  readonly total: number;
}

/** The slack that sums of decimal shares need; far below the smallest step (0.001). */
const SLACK = 1e-6;

/** Why a further contract does not fit beside those held, naming what was asked and what is free; undefined when it does. */
export const refusal = (asked: Contract, held: readonly Contract[], inventory: Inventory): string | undefined => {
  const stranger = asked.gpus.find(({ id }) => !inventory.gpus.some((gpu) => gpu.id === id));
  if (stranger) return `gpu ${stranger.id}: not on this node`;
  const short = [...plain(asked, held, inventory), ...devices(asked, held, inventory)].find(
    ({ asked: want, held: taken, total }) => want > 0 && taken + want > total + SLACK,
  );
  return (
    short && `${short.what}: asked ${short.asked}, ${Math.max(0, short.total - short.held)} of ${short.total} free`
  );
};

const plain = (asked: Contract, held: readonly Contract[], inventory: Inventory): Asked[] =>
  (['cpu', 'memory', 'disk', 'ioSlots'] as const).map((what) => ({
    what,
    asked: asked[what],
    held: held.reduce((sum, contract) => sum + contract[what], 0),
    total: inventory[what],
  }));

const devices = (asked: Contract, held: readonly Contract[], inventory: Inventory): Asked[] =>
  asked.gpus.flatMap((gpu) => {
    const taken = held.flatMap(({ gpus }) => gpus.filter(({ id }) => id === gpu.id));
    const memory = inventory.gpus.find(({ id }) => id === gpu.id)?.memory ?? 0;
    const sum = (part: 'share' | 'memory'): number => taken.reduce((total, grant) => total + grant[part], 0);
    return [
      { what: `gpu ${gpu.id} share`, asked: gpu.share, held: sum('share'), total: 1 },
      { what: `gpu ${gpu.id} memory`, asked: gpu.memory, held: sum('memory'), total: memory },
    ];
  });
