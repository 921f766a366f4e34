/**
 * Neuron devices of instance types, as the DRA driver `neuron.aws.com` publishes them. EC2 reports the number of devices, so this
 * number cannot become outdated.
 */
import { NEURON_DRIVER } from '#api/devices';
import type { Device } from '#api/objects';
import type { DriverTemplate, RuntimeValues } from '#engine/devices';
import { amountIn, type InstanceType } from '#engine/model';
import { NEURON_RESOURCE } from '../instancetypes/capacity.ts';

/** Types with a grid of 16 devices in four rows. Their driver publishes the groups of devices that a workload can use. */
const GRID_TYPES: ReadonlySet<string> = new Set(['trn1.32xlarge', 'trn1n.32xlarge', 'trn2.48xlarge']);
const GRID_DEVICES = 16;
/** Numbers of neighboring devices that a group can have. */
const GROUP_SIZES = [4, 8, 16];
/** Families without a DRA driver, and parts of UltraServers, which need several coordinated nodes. */
const UNSUPPORTED = /^(?:inf1|trn\d+u)\./;
const groupAttribute = (size: number): string => `resource.aws.com/devicegroup${size}_id`;

const known = new Map<string, DriverTemplate>();

/** Returns the template of an instance type. Returns the same object for the same devices, so that it is compiled once. */
export function neuronTemplate({ name, capacity }: InstanceType): DriverTemplate | undefined {
  const count = amountIn(capacity, NEURON_RESOURCE);
  if (count === 0 || UNSUPPORTED.test(name)) return undefined;
  const id = `${name} ${count}`;
  let template = known.get(id);
  if (template === undefined) {
    template = templateOf(name, count);
    known.set(id, template);
  }
  return template;
}

function templateOf(type: string, count: number): DriverTemplate {
  const devices = Array.from(
    { length: count },
    (_, index): Device => ({
      name: `neuron-device-${index}`,
      attributes: {
        deviceId: { int: index },
        instanceType: { string: type },
        resourceType: { string: 'neuron_device' },
      },
    }),
  );
  const hasGrid = GRID_TYPES.has(type) && count === GRID_DEVICES;
  const groups = GROUP_SIZES.map(
    (size): RuntimeValues => ({
      attribute: groupAttribute(size),
      groups: new Map(devices.map(({ name }, index) => [name, `neuron-${size}-${Math.floor(index / size)}`])),
      areDisjoint: true,
    }),
  );
  return {
    driver: NEURON_DRIVER,
    source: 'static',
    pools: [{ pool: 'neuron', devices }],
    runtime: hasGrid ? [{ attribute: groupAttribute(1), isUnique: true }, ...groups] : [],
  };
}
