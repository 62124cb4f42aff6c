import { foldArchitecture } from '#placement';
import {
  bytesOf,
  choice,
  isRecord,
  line,
  map,
  mapChecked,
  Nested,
  NestedList,
  number,
  Optional,
  Required,
  size,
  text,
  validateInput,
  whole,
} from '#platform/validation';
import type { Checked, Measure } from '#platform/validation';
import { CONTAINER_ENGINES } from '../../domain/inventory.js';
import type { ContainerEngine, GpuDevice, InstalledSoftware, Inventory } from '../../domain/inventory.js';

/* What a node has, as its agent sends it. */

/** An agent may list every package of a large installation. */
export const INVENTORY_LIMITS = { maxBytes: 640 * 1024, maxDepth: 16 };
const MAX_SOFTWARE = 10_000;

const labels = map(
  text({ max: 63, form: /^[A-Za-z0-9._/-]+$/, says: 'named with letters, digits and . _ / -' }),
  text({ min: 0, max: 256 }),
);

export class GpuDeviceDto {
  @Required(line())
  id!: string;

  @Required(line())
  model!: string;

  @Required(size())
  memory!: Measure;
}

export class InstalledSoftwareDto {
  @Required(line())
  name!: string;

  @Required(text({ min: 0, max: 128 }))
  version!: string;
}

export class ContainerEngineDto {
  @Required(choice(CONTAINER_ENGINES))
  engine!: ContainerEngine['engine'];

  @Required(text({ min: 0, max: 128 }))
  version!: string;
}

const byId = (item: unknown): unknown => (isRecord(item) ? item.id : undefined);

export class InventoryDto {
  @Required(line())
  os!: string;

  @Required(line())
  architecture!: string;

  @Required(number({ min: 0.001, max: 100_000 }))
  cpu!: number;

  @Required(size(1))
  memory!: Measure;

  @Required(size())
  disk!: Measure;

  @Required(whole(0, 1_000_000))
  ioSlots!: number;

  @NestedList(() => GpuDeviceDto, { optional: true, max: 1024, unique: byId })
  gpus?: readonly GpuDeviceDto[];

  @NestedList(() => InstalledSoftwareDto, { optional: true, max: MAX_SOFTWARE })
  applications?: readonly InstalledSoftwareDto[];

  @NestedList(() => InstalledSoftwareDto, { optional: true, max: MAX_SOFTWARE })
  packages?: readonly InstalledSoftwareDto[];

  @Optional(labels)
  labels?: Readonly<Record<string, string>>;

  @Nested(() => ContainerEngineDto, { optional: true })
  container?: ContainerEngineDto;
}

const device = ({ id, model, memory }: GpuDeviceDto): GpuDevice => ({ id, model, memory: bytesOf(memory) });
const software = ({ name, version }: InstalledSoftwareDto): InstalledSoftware => ({ name, version });

/** The inventory that a checked one describes: bytes, thousandths of cores, the architecture by its one name. */
export const toInventory = (dto: InventoryDto): Inventory => ({
  os: dto.os,
  architecture: foldArchitecture(dto.architecture),
  cpu: Math.round(dto.cpu * 1000) / 1000,
  memory: bytesOf(dto.memory),
  disk: bytesOf(dto.disk),
  ioSlots: dto.ioSlots,
  gpus: (dto.gpus ?? []).map(device),
  applications: (dto.applications ?? []).map(software),
  packages: (dto.packages ?? []).map(software),
  labels: { ...dto.labels },
  ...(dto.container && { container: { engine: dto.container.engine, version: dto.container.version } }),
});

export const parseInventory = (input: unknown): Checked<Inventory> =>
  mapChecked(validateInput(InventoryDto, input, INVENTORY_LIMITS), toInventory);
