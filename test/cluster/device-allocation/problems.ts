/**
 * Prints random problems for `main.go`, one JSON object in each line: `node problems.ts COUNT SEED`. They cover the features that
 * devices, claims and the state of a node can combine.
 */
import fc from 'fast-check';

const DRIVER = 'gpu.example.com';
const rarely = (most: number) => fc.integer({ min: 1, max: most }).map((number) => number === 1);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const upTo = (max: number, min = 0) => fc.integer({ min, max });

const policy = fc.oneof(
  fc.constant(undefined),
  fc.record({ default: upTo(3, 1) }).map(({ default: one }) => ({ default: `${one}` })),
  fc.record({ min: upTo(2, 1), step: maybe(upTo(3, 1)), max: maybe(upTo(8, 4)) }).map(({ min, step, max }) => ({
    default: `${min}`,
    validRange: { min: `${min}`, ...(step && { step: `${step}` }), ...(max && { max: `${max}` }) },
  })),
  fc.constant({ default: '2', validValues: ['2', '3', '5'] }),
);

const device = fc
  .record({
    root: maybe(upTo(1)),
    model: upTo(1),
    shares: maybe(fc.record({ value: upTo(8, 3), policy, name: fc.constantFrom('shares', `${DRIVER}/shares`) })),
    size: maybe(upTo(4, 1)),
    counter: maybe(upTo(3, 1)),
    isTainted: rarely(6),
  })
  .map(({ root, model, shares, size, counter, isTainted }) => ({
    attributes: { model: { int: model }, ...(root !== undefined && { root: { int: root } }) },
    ...(shares && {
      allowMultipleAllocations: true,
      capacity: { [shares.name]: { value: `${shares.value}`, ...(shares.policy && { requestPolicy: shares.policy }) } },
    }),
    ...(!shares && size && { capacity: { shares: { value: `${size}` } } }),
    ...(counter && { consumesCounters: [{ counterSet: 's', counters: { c: { value: `${counter}` } } }] }),
    ...(isTainted && { taints: [{ key: 'k', effect: 'NoSchedule' }] }),
  }));

const pool = fc.record({
  devices: fc.array(device, { minLength: 1, maxLength: 5 }),
  counters: upTo(6, 2),
  isIncomplete: rarely(12),
  hasOld: rarely(6),
});

const exact = fc.record({
  model: maybe(upTo(1)),
  needsRoot: rarely(8),
  count: fc.option(upTo(3, 1), { nil: undefined, freq: 3 }),
  shares: maybe(fc.record({ amount: upTo(5, 1), name: fc.constantFrom('shares', 'shares', `${DRIVER}/shares`) })),
  tolerates: fc.boolean(),
  isAdmin: rarely(6),
});
type Exact = typeof exact extends fc.Arbitrary<infer T> ? T : never;

const details = ({ model, needsRoot, count, shares, tolerates, isAdmin }: Exact) => {
  const attributes = `device.attributes['${DRIVER}']`;
  const texts = [
    ...(model === undefined ? [] : [`${attributes}.model == ${model}`]),
    // fails on devices without the attribute
    ...(needsRoot ? [`${attributes}.root == 0`] : []),
  ];
  return {
    deviceClassName: 'gpu',
    ...(texts.length > 0 && { selectors: texts.map((expression) => ({ cel: { expression } })) }),
    ...(count === undefined ? { allocationMode: 'All' } : { allocationMode: 'ExactCount', count }),
    ...(shares && { capacity: { requests: { [shares.name]: `${shares.amount}` } } }),
    ...(tolerates && { tolerations: [{ operator: 'Exists' }] }),
    ...(isAdmin && { adminAccess: true }),
  };
};

const requests = fc.array(fc.array(exact, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }).map((all) =>
  all.map((alternatives, at) =>
    alternatives.length === 1
      ? { name: `r${at}`, exactly: details(alternatives[0] as Exact) }
      : {
          name: `r${at}`,
          firstAvailable: alternatives.map(({ isAdmin: _, ...each }, index) => ({
            ...details({ ...each, isAdmin: false }),
            name: `a${index}`,
          })),
        },
  ),
);

const claims = fc.array(fc.record({ requests, isAligned: rarely(3) }), { minLength: 1, maxLength: 3 });

const problem = fc
  .record({ pools: fc.array(pool, { minLength: 1, maxLength: 3 }), claims, uses: fc.array(upTo(5), { maxLength: 5 }) })
  .map((parts) => {
    const slices = parts.pools.flatMap(({ devices, counters, isIncomplete, hasOld }, at) => {
      const name = `pool-${at}`;
      const slice = (suffix: string, spec: object, generation = 2) => ({
        apiVersion: 'resource.k8s.io/v1',
        kind: 'ResourceSlice',
        metadata: { name: `${name}-${suffix}` },
        spec: {
          ...{ driver: DRIVER, nodeName: 'node' },
          pool: { name, generation, resourceSliceCount: isIncomplete ? 3 : 2 },
          ...spec,
        },
      });
      return [
        slice('devices', { devices: devices.map((each, index) => ({ ...each, name: `p${at}-d${index}` })) }),
        slice('counters', { sharedCounters: [{ name: 's', counters: { c: { value: `${counters}` } } }] }),
        ...(hasOld ? [slice('old', { devices: [{ name: `p${at}-old`, attributes: { model: { int: 1 } } }] }, 1)] : []),
      ];
    });
    const all = parts.pools.flatMap(({ devices }, at) =>
      devices.map((each, index) => ({ each, id: [DRIVER, `pool-${at}`, `p${at}-d${index}`] as const })),
    );
    const used = [...new Set(parts.uses)].flatMap((at) => all[at] ?? []);
    return {
      slices,
      classes: [
        {
          ...{ apiVersion: 'resource.k8s.io/v1', kind: 'DeviceClass', metadata: { name: 'gpu' } },
          spec: { selectors: [{ cel: { expression: `device.driver == '${DRIVER}'` } }] },
        },
      ],
      claims: parts.claims.map(({ requests: own, isAligned }, at) => ({
        ...{
          apiVersion: 'resource.k8s.io/v1',
          kind: 'ResourceClaim',
          metadata: { name: `c${at}`, namespace: 'default' },
        },
        spec: {
          devices: { requests: own, ...(isAligned && { constraints: [{ matchAttribute: `${DRIVER}/root` }] }) },
        },
      })),
      taken: used.flatMap(({ each, id }) => ('allowMultipleAllocations' in each ? [] : [id])),
      shared: used.flatMap(({ each, id }) => {
        const [name] = Object.keys(each.capacity ?? {});
        return 'allowMultipleAllocations' in each && name !== undefined
          ? [{ device: id, capacity: { [name]: '2' } }]
          : [];
      }),
    };
  });

const [count = '1000', seed = '1'] = process.argv.slice(2);
for (const each of fc.sample(problem, { numRuns: Number(count), seed: Number(seed) }))
  process.stdout.write(`${JSON.stringify(each)}\n`);
