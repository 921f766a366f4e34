import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { simulationText } from '../../../src/cli/render/simulation.ts';
import { simulate } from '../../../src/cli/simulate.ts';

const POOL = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7g]}
`;
const PODS = (cpu: string): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  template: {spec: {containers: [{name: app, resources: {requests: {cpu: ${cpu}}}}]}}
`;

const STATEFUL = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  template: {spec: {containers: [{name: app, resources: {requests: {cpu: 1}}}]}}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {storageClassName: onlyc}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: eph}
spec:
  replicas: 1
  template:
    spec:
      containers: [{name: app, resources: {requests: {cpu: 1}}}]
      volumes: [{name: scratch, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: onlyc}}}}]
`;
const ONLY_C = `
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: onlyc}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [us-west-2c]}]}]
`;

describe('simulate', () => {
  let folder: string;
  const write = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'simulate-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('launches types of the built-in catalogue by default', async () => {
    const filename = [write('pool.yaml', POOL), write('pods.yaml', PODS('900m'))];
    const { simulation } = await simulate({ filename, nowMs: 0, packing: 'compatible' });
    expect(simulation.nodeClaims).toHaveLength(1);
    expect(simulation.nodeClaims[0]).toMatchObject({ pods: ['default/web-0', 'default/web-1', 'default/web-2'] });
    expect(simulation.nodeClaims[0]?.instanceTypes.every((name) => name.startsWith('m7g.'))).toBe(true);
    expect(simulation.totalPrice).toBeGreaterThan(0);
    expect(simulationText(simulation)).toMatch(/^NODEPOOL +CHEAPEST .*\ndefault +m7g\./);
  });

  it('balances zones, unless a NodePolicy leaves them to EC2', async () => {
    const policy =
      'apiVersion: karpenter-ts.sh/v1alpha1\nkind: NodePolicy\nmetadata: {name: all}\nspec: {zones: {balance: 0%}}';
    const onDemand = POOL.replace(
      'values: [m7g]}',
      'values: [m7g]}\n        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}',
    );
    const size = 'karpenter.k8s.aws/instance-size';
    const small = `${onDemand}        - {key: ${size}, operator: In, values: [medium]}\n`;
    const filename = [write('small.yaml', small), write('pods.yaml', PODS('700m'))];
    const { simulation } = await simulate({ filename, nowMs: 0 });
    expect(simulation.zones).toBe('us-west-2a 1, us-west-2b 1, us-west-2c 1');
    expect(simulationText(simulation)).toContain('balanced zones: us-west-2a 1, us-west-2b 1, us-west-2c 1');
    const left = await simulate({ filename: [...filename, write('policy.yaml', policy)], nowMs: 0 });
    expect(left.simulation).not.toHaveProperty('zones');
  });

  it('leaves out spot above the maximum price of a NodePolicy', async () => {
    const policy = (maxPrice: string): string =>
      `apiVersion: karpenter-ts.sh/v1alpha1\nkind: NodePolicy\nmetadata: {name: spot}\nspec: {spot: {maxPrice: ${maxPrice}, consolidationTypes: 5}}`;
    const capacityTypes = async (maxPrice: string) => {
      const filename = [
        write('pool.yaml', POOL),
        write('pods.yaml', PODS('900m')),
        write('policy.yaml', policy(maxPrice)),
      ];
      const { simulation } = await simulate({ filename, nowMs: 0 });
      expect(simulationText(simulation)).toMatch(
        /SPOT\n {2}default \(NodePolicy spot\): at most \d+ % of on-demand, which \d+ of \d+ spot offerings\s+exceed; 5 instance/,
      );
      const { offerings = 0, aboveMaxPrice = 0 } = simulation.spot?.[0] ?? {};
      return [simulation.totalPrice, aboveMaxPrice === offerings];
    };
    const [[spot = 0, noneLeft], [onDemand = 0, allLeft]] = [
      await capacityTypes('1%'),
      await capacityTypes('100%'),
    ].reverse() as [[number, boolean], [number, boolean]];
    expect(spot).toBeLessThan(onDemand);
    expect([noneLeft, allLeft]).toEqual([false, true]);
  });

  it('keeps a part of the replicas of a workload off spot', async () => {
    const policy =
      'apiVersion: karpenter-ts.sh/v1alpha1\nkind: NodePolicy\nmetadata: {name: spot}\nspec: {spot: {share: 70%, onDemandAfter: 5m}}';
    const filename = [write('pool.yaml', POOL), write('pods.yaml', PODS('900m')), write('policy.yaml', policy)];
    const { simulation } = await simulate({ filename, nowMs: 0 });
    expect(simulation.spotRules).toMatchObject([{ code: 'share', replicas: 3, most: 2, pods: [expect.any(String)] }]);
    expect(simulationText(simulation)).toMatch(
      /default \(NodePolicy spot\): at most 70 % of the replicas of a workload; on-demand after 5m/,
    );
    expect(simulationText(simulation)).toMatch(/at most 2 of 3 replicas may be on spot \(70 %, NodePolicy spot\)/);
  });

  it('plans nodes for a NodePool with windows of disruption', async () => {
    const policy = `apiVersion: karpenter-ts.sh/v1alpha1
kind: NodePolicy
metadata: {name: all}
spec: {windows: {allowed: [{start: "02:00", end: "05:00"}]}}`;
    const filename = [write('pool.yaml', POOL), write('pods.yaml', PODS('700m')), write('policy.yaml', policy)];
    const { simulation } = await simulate({ filename, nowMs: 0 });
    expect(simulation.nodeClaims.flatMap(({ pods }) => pods)).toHaveLength(3);
  });

  describe('with claim templates', () => {
    const simulated = async (text: string) => {
      const filename = [write('pool.yaml', POOL), write('volumes.yaml', text)];
      return simulate({ filename, nowMs: 0 });
    };
    const zonesOf = ({ simulation }: Awaited<ReturnType<typeof simulated>>) =>
      simulation.nodeClaims.map(({ requirements }) => requirements.find(({ key }) => key.endsWith('/zone'))?.values);

    it('places the pods of StatefulSets and pods with ephemeral volumes in the zone of their storage class', async () => {
      const result = await simulated(STATEFUL + ONLY_C);
      expect(zonesOf(result)).toEqual([['us-west-2c']]);
      expect(result.simulation.nodeClaims[0]?.pods).toHaveLength(3);
    });

    it('assumes a missing storage class, and binds the volumes of a class with immediate binding later', async () => {
      const missing = await simulated(STATEFUL);
      expect(missing.simulation.unschedulable).toEqual({});
      expect(missing.notes.join()).toContain('StorageClass onlyc is not in the manifests');
      const immediate = await simulated(STATEFUL + ONLY_C.replace('WaitForFirstConsumer', 'Immediate'));
      expect(zonesOf(immediate)).toEqual([['us-west-2c']]);
      expect(immediate.notes.join()).toContain('StorageClass onlyc binds volumes before their pods are scheduled');
    });

    it('limits the volumes of a node', async () => {
      const many = (STATEFUL + ONLY_C).replace('replicas: 2', 'replicas: 70').replaceAll('cpu: 1', 'cpu: 1m');
      const { simulation } = await simulated(many);
      const volumes = simulation.nodeClaims.map(({ pods }) => pods.length);
      expect(Math.max(...volumes)).toBeLessThanOrEqual(31);
      expect(simulation.unschedulable).toEqual({});
    });
  });

  it('launches fewer nodes if each node costs more besides its instance', async () => {
    const pods = write('many.yaml', PODS('900m').replace('replicas: 3', 'replicas: 40'));
    const annotated = POOL.replace('name: default', "name: default, annotations: {karpenter.sh/node-hourly-fee: '1'}");
    const bought = async (pool: string, nodeHourlyFee?: number) => {
      const filename = [write('fee-pool.yaml', pool), pods];
      const { simulation } = await simulate({
        filename,
        nowMs: 0,
        ...(nodeHourlyFee === undefined ? {} : { nodeHourlyFee }),
      });
      return { nodes: simulation.nodeClaims.length, usdPerHour: simulation.totalPrice };
    };
    const [without, usual, dear] = [await bought(POOL, 0), await bought(POOL), await bought(POOL, 1)];
    expect(usual.nodes).toBeLessThan(without.nodes);
    expect(dear.nodes).toBeLessThan(usual.nodes);
    expect(without.usdPerHour).toBeLessThanOrEqual(usual.usdPerHour);
    expect(usual.usdPerHour).toBeLessThanOrEqual(dear.usdPerHour);
    expect(await bought(annotated, 0)).toEqual(dear);
  });

  it.each([
    ['places a pod in the room that an infeasible resize does not use', 'infeasible.yaml', 0],
    ['launches a node while a decrease is not complete', 'down.yaml', 1],
  ])('%s', async (_, file, nodes) => {
    const filename = [fileURLToPath(new URL(`fixtures/resize/${file}`, import.meta.url))];
    const { simulation } = await simulate({ filename, nowMs: 0 });
    expect(simulation.nodeClaims).toHaveLength(nodes);
    expect(simulation.existingNodes).toHaveLength(1 - nodes);
  });

  it('names the pod and the field of a reported amount that is not valid', async () => {
    const status = "{containerStatuses: [{name: app, resources: {requests: {cpu: 'x'}}}]}";
    const bound = `
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {nodeName: n, containers: [{name: app}]}
status: ${status}
`;
    const filename = [write('pool.yaml', POOL), write('reported.yaml', bound)];
    await expect(simulate({ filename, nowMs: 0 })).rejects.toThrow(
      /Pod a.*status\.containerStatuses\[0\]\.resources\.requests\.cpu/,
    );
  });

  it('uses the cheaper one of two NodePools of equal weight', async () => {
    const capacityType = (name: string, value: string, weight: number): string =>
      POOL.replace('name: default', `name: ${name}`)
        .replace('spec:', `spec:\n  weight: ${weight}`)
        .concat(`        - {key: karpenter.sh/capacity-type, operator: In, values: [${value}]}\n`);
    const usedNodePools = async (weight: number, packing?: 'compatible') => {
      const pools = [capacityType('b', 'on-demand', weight), capacityType('a', 'spot', 1)].join('---');
      const filename = [write('weights.yaml', pools), write('pods.yaml', PODS('900m'))];
      const { simulation } = await simulate({ filename, nowMs: 0, ...(packing && { packing }) });
      return new Set(simulation.nodeClaims.map(({ nodePool }) => nodePool));
    };
    expect(await usedNodePools(1)).toEqual(new Set(['a']));
    expect(await usedNodePools(1, 'compatible')).toEqual(new Set(['b']));
    expect(await usedNodePools(2)).toEqual(new Set(['b']));
  });

  it('prints surplus CPU credits of burstable types beside the price, by the expected utilization', async () => {
    const filename = [write('burstable.yaml', POOL.replace('m7g', 't4g')), write('pods.yaml', PODS('1900m'))];
    const simulated = async (expectedCpuUtilization?: number) =>
      (
        await simulate({
          filename,
          nowMs: 0,
          ...(expectedCpuUtilization === undefined ? {} : { expectedCpuUtilization }),
        })
      ).simulation;
    const usual = await simulated();
    const credits = usual.nodeClaims.reduce((sum, { planning }) => sum + (planning?.surplusCredits ?? 0), 0);
    // At 70 %, the pods use 3.99 vCPUs, and the baseline of t4g.2xlarge is 3.2.
    expect(credits).toBeCloseTo(0.79 * 0.04, 6);
    expect(simulationText(usual)).toMatch(/ PLANNING\n/);
    expect(simulationText(usual)).toContain(` fee, +$${credits.toFixed(4)}/h surplus CPU credits), 0 pods`);
    const free = await simulated(0);
    expect(free.nodeClaims.every(({ planning }) => planning?.surplusCredits === undefined)).toBe(true);
    expect(simulationText(free)).not.toContain('surplus');
  });

  it('reports that the fee of a NodePool cannot be parsed', async () => {
    const annotated = POOL.replace(
      'name: default',
      "name: default, annotations: {karpenter.sh/node-hourly-fee: 'free'}",
    );
    const { notes } = await simulate({
      filename: [write('wrong-fee.yaml', annotated), write('p.yaml', PODS('900m'))],
      nowMs: 0,
    });
    expect(notes.join()).toMatch(/NodePool default: annotation karpenter.sh\/node-hourly-fee "free" must be an amount/);
  });

  it('prints billed prices, also with a price book', async () => {
    const filename = [write('pool.yaml', POOL), write('pods.yaml', PODS('900m'))];
    const book = (body: string): string =>
      write('book.yaml', `apiVersion: karpenter-ts/v1\nkind: PriceBook\n${body}\n`);
    const plain = await simulate({ filename, nowMs: 0, nodeHourlyFee: 0 });
    const { nodeClaims, totalPrice: instances, totalBilledPrice: billed } = plain.simulation;
    expect(billed).toBe(instances);
    expect(
      nodeClaims.every(({ price, billedPrice, planning }) => price === billedPrice && planning === undefined),
    ).toBe(true);

    const discounted = await simulate({
      filename,
      nowMs: 0,
      nodeHourlyFee: 0,
      priceBook: book('discounts: [{discount: 0.25}]'),
    });
    const { totalPrice, totalBilledPrice } = discounted.simulation;
    expect(totalPrice).toBeCloseTo(instances);
    expect(totalBilledPrice).toBeCloseTo(instances * 0.75);
    expect(simulationText(discounted.simulation)).toContain(` for $${totalBilledPrice.toFixed(4)}/h, 0 pods`);

    const rates = '[{share: 0.6}]';
    const priceBook = book(`savingsPlans: [{type: Compute, commitmentUsdPerHour: 9, rates: ${rates}}, {type: Own}]`);
    const { simulation, notes } = await simulate({ filename, nowMs: 0, nodeHourlyFee: 0, priceBook });
    expect(simulation.totalBilledPrice).toBe(0);
    expect(simulation.nodeClaims.map(({ billedPrice }) => billedPrice)).toEqual(simulation.nodeClaims.map(() => 0));
    expect(simulation.totalPrice).toBeGreaterThan(plain.simulation.totalPrice);
    expect(simulationText(simulation)).toMatch(/on-demand .*\$0\.0000/);
    expect(simulationText(simulation)).toContain(' for $0.0000/h, 0 pods');
    expect(notes).toContainEqual(expect.stringContaining('book.yaml: savingsPlans[1]: '));
  });

  it('does not apply the discounts of an operator twice', async () => {
    const filename = [write('pool.yaml', POOL), write('pods.yaml', PODS('900m'))];
    const list = (price: number, listPrice?: number) => ({
      requirements: [
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
        { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['us-west-2a'] },
      ],
      price,
      available: true,
      ...(listPrice === undefined ? {} : { listPrice }),
    });
    const type = {
      name: 'm7g.xlarge',
      requirements: [
        { key: 'karpenter.k8s.aws/instance-family', operator: 'In', values: ['m7g'] },
        { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['m7g.xlarge'] },
      ],
      capacity: { cpu: '4', memory: '16Gi', pods: '50' },
      offerings: [list(0.08, 0.1)],
    };
    const instanceTypes = write('types.json', JSON.stringify({ instanceTypes: [type] }));
    const priceBook = write(
      'book.yaml',
      'apiVersion: karpenter-ts/v1\nkind: PriceBook\ndiscounts: [{discount: 0.2}]\n',
    );
    for (const more of [{}, { priceBook }]) {
      const { simulation } = await simulate({ filename, nowMs: 0, instanceTypes, ...more });
      expect(simulation).toMatchObject({ totalPrice: 0.1, totalBilledPrice: 0.08 });
    }
  });

  it('uses the spot risk that an operator reports, and prints it beside the price', async () => {
    const filename = [write('pool.yaml', POOL), write('pods.yaml', PODS('900m'))];
    const type = (name: string, price: number, spotRisk?: number) => ({
      name,
      requirements: [
        { key: 'karpenter.k8s.aws/instance-family', operator: 'In', values: ['m7g'] },
        { key: 'node.kubernetes.io/instance-type', operator: 'In', values: [name] },
      ],
      capacity: { cpu: '4', memory: '16Gi', pods: '50' },
      offerings: [
        {
          requirements: [
            { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] },
            { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['us-west-2a'] },
          ],
          price,
          available: true,
          ...(spotRisk === undefined ? {} : { spotRisk }),
        },
      ],
    });
    const bought = async (calm: number, more: object = {}) => {
      const list = { instanceTypes: [type('m7g.xlarge', 0.1, 0.02), type('m7g.2xlarge', calm)] };
      const instanceTypes = write('types.json', JSON.stringify(list));
      return (await simulate({ filename, nowMs: 0, instanceTypes, ...more })).simulation;
    };
    const calm = await bought(0.11);
    expect(calm).toMatchObject({ totalPrice: 0.11, nodeClaims: [{ cheapest: 'm7g.2xlarge' }] });
    expect(simulationText(calm)).not.toContain('spot risk');
    const risky = await bought(0.13);
    expect(risky).toMatchObject({
      totalPrice: 0.1,
      nodeClaims: [{ cheapest: 'm7g.xlarge', planning: { spotRisk: 0.02 } }],
    });
    expect(simulationText(risky)).toMatch(/PRICE +PLANNING\n.*\$0\.1000\/h +\+\$0\.0200\/h spot risk\n/);
    const asKarpenter = await bought(0.11, { packing: 'compatible' });
    expect(asKarpenter.nodeClaims).toEqual([expect.objectContaining({ cheapest: 'm7g.xlarge' })]);
    expect(asKarpenter.nodeClaims[0]).not.toHaveProperty('planning');
  });

  it('explains per NodePool why pods stay pending', async () => {
    const filename = [write('pool.yaml', POOL), write('huge.yaml', PODS('9999'))];
    const { simulation } = await simulate({ filename, explain: true, nowMs: 0 });
    expect(simulation.explanations?.['default/web-0']).toMatchObject({
      code: 'no-fit',
      pools: [{ nodePool: 'default', misfit: { code: 'instance-types', tooSmall: true } }],
    });
    const text = simulationText(simulation);
    expect(text).toContain(
      'default/web-0 and 2 others: NodePool "default" has no instance type with enough room: the pod requests cpu 9999',
    );
    expect(text).toMatch(/^WHY\n {2}default\/web-0 and 2 others\n {4}default: instance-types: no instance type has /m);
    expect(text).toContain('0 new nodes for $0.0000/h, 3 pods unschedulable');
  });

  it('reports its assumptions', async () => {
    const filename = [write('pool.yaml', POOL)];
    expect((await simulate({ filename, nowMs: 0 })).notes).toEqual([
      expect.stringMatching(
        /NodePool default: EC2NodeClass default is not in the manifests; a default AL2023 EC2NodeClass /,
      ),
    ]);
  });

  it('spreads pods by the default constraints of the scheduler', async () => {
    const selecting = PODS('100m')
      .replace('replicas: 3', 'replicas: 3\n  selector: {matchLabels: {app: web}}')
      .replace('template: {', 'template: {metadata: {labels: {app: web}}, ');
    const filename = [write('pool.yaml', POOL), write('labelled.yaml', selecting)];
    const zone = 'topology.kubernetes.io/zone';
    const config = `podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: ${zone}, whenUnsatisfiable: DoNotSchedule}]}`;
    for (const schedulerConfig of [config, write('scheduler.yaml', config)]) {
      const { simulation } = await simulate({ filename, schedulerConfig, nowMs: 0 });
      const zones = simulation.nodeClaims.map(
        ({ requirements }) => requirements.find(({ key }) => key === zone)?.values,
      );
      expect(new Set(zones.flat()).size).toBe(3);
    }
    const wrong = simulate({ filename, schedulerConfig: write('wrong.yaml', 'spread: {}'), nowMs: 0 });
    await expect(wrong).rejects.toThrow(/wrong\.yaml: parsing scheduler config, .*unknown field "spread"/);
    await expect(simulate({ filename, schedulerConfig: 'none.yaml', nowMs: 0 })).rejects.toThrow(
      'none.yaml: no such file',
    );
  });

  it('applies NodeOverlays that are not being deleted, and reports which ones are not accepted', async () => {
    const overlay = (name: string, spec: string): string =>
      `apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
    const large = '{key: karpenter.k8s.aws/instance-size, operator: In, values: [4xlarge]}';
    const overlays = [
      overlay('bargain', `{requirements: [${large}], price: "0.001"}`),
      overlay('also', `{requirements: [${large}], price: "0.002"}`),
    ].join('---\n');
    const filename = [write('pool.yaml', POOL), write('pods.yaml', PODS('900m')), write('overlays.yaml', overlays)];
    const { simulation, notes } = await simulate({ filename, nowMs: 0 });
    expect(simulation.nodeClaims).toMatchObject([{ cheapest: 'm7g.4xlarge' }]);
    expect(simulation.totalPrice).toBeCloseTo(0.001, 6);
    expect(notes).toEqual([
      expect.stringContaining('is used instead'),
      expect.stringMatching(/^NodeOverlays are included, .* add --feature-gates NodeOverlay=true or NodeOverlay=false/),
      expect.stringMatching(/NodeOverlay also: not applied: conflict with another overlay$/),
    ]);

    const deleted = overlays.replaceAll('name: bargain', 'name: bargain, deletionTimestamp: 2026-06-03T10:30:00Z');
    write('overlays.yaml', deleted);
    expect((await simulate({ filename, nowMs: 0 })).simulation.totalPrice).toBeCloseTo(0.002, 6);

    const wrong = write('wrong.yaml', overlay('wrong', '{requirements: [], price: "-1"}'));
    await expect(simulate({ filename: [wrong], nowMs: 0 })).rejects.toThrow(
      /wrong\.yaml.*NodeOverlay wrong.*spec\.price/s,
    );
  });

  it('provisions capacity buffers, and reports buffers that it cannot provision', async () => {
    const buffer = (name: string, spec: string, annotations = '{}'): string =>
      `apiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityBuffer\nmetadata: {name: ${name}, annotations: ${annotations}}\nspec: ${spec}\n`;
    const buffers = [
      buffer('spare', '{scalableRef: {kind: Deployment, name: web, apiGroup: apps}, percentage: 50}'),
      buffer('lost', '{podTemplateRef: {name: gone}, replicas: 1}'),
      buffer(
        'weekly',
        '{scalableRef: {kind: Deployment, name: web, apiGroup: apps}, percentage: 50}',
        '{karpenter-ts.sh/buffer-schedule: "0 9 * * mon", karpenter-ts.sh/buffer-schedule-duration: 1h}',
      ),
      buffer(
        'wrong',
        '{scalableRef: {kind: Deployment, name: web, apiGroup: apps}}',
        '{karpenter-ts.sh/buffer-cluster-percentage: "half"}',
      ),
    ].join('---\n');
    const filename = [write('pool.yaml', POOL), write('pods.yaml', PODS('900m')), write('buffers.yaml', buffers)];
    const { simulation, notes } = await simulate({ filename, nowMs: 0 });
    const placed = simulation.nodeClaims.flatMap(({ pods }) => pods).filter((pod) => pod.includes('buffer'));
    expect(placed.sort()).toEqual(['default/capacity-buffer-spare-1', 'default/capacity-buffer-spare-2']);
    expect(notes).toEqual([
      expect.stringContaining('is used instead'),
      expect.stringMatching(/CapacityBuffer lost: no capacity is reserved: PodTemplate "default\/gone" not found$/),
      expect.stringMatching(/CapacityBuffer wrong: no capacity is reserved: .*"half"; use an integer from 1 to 1000$/),
      expect.stringMatching(/^CapacityBuffer default\/spare: its room costs \$\d+\.\d\d a month \(730 hours\)$/),
    ]);
  });

  describe('with resource claims', () => {
    const example = (name: string): string => join(import.meta.dirname, '../../../examples', name);
    const cluster = ['nodepool.yaml', 'ec2nodeclass.yaml', 'dra/drivers.yaml'].map(example);
    const launched = async (files: readonly string[], dra = true) => {
      const { simulation, notes } = await simulate({ filename: [...cluster, ...files], nowMs: 0, dra });
      const { nodeClaims, unschedulable } = simulation;
      return { types: nodeClaims.map(({ cheapest }) => cheapest), unschedulable: Object.values(unschedulable), notes };
    };

    it.each([
      ['static tables', 'gpu', ['g6.xlarge']],
      ['devices that a ConfigMap declares', 'mig', ['p5.4xlarge']],
      ['devices with the same PCIe root', 'efa', ['p5.48xlarge']],
    ])('launches nodes with %s', async (_source, name, types) => {
      expect(await launched([example(`dra/${name}.yaml`)])).toMatchObject({ types, unschedulable: [] });
    });

    it('launches no nodes while the operator ignores resource claims', async () => {
      const { types, unschedulable } = await launched([example('dra/gpu.yaml')], false);
      expect(types).toEqual([]);
      expect(JSON.stringify(unschedulable)).toContain('not yet supported');
    });

    it('reports a declaration that is not valid, and a missing template', async () => {
      const declared = write(
        'declared.yaml',
        `
apiVersion: v1
kind: ConfigMap
metadata: {name: mine, labels: {karpenter.sh/device-templates: "true"}}
data: {all.yaml: "driver: 5"}
---
apiVersion: v1
kind: Pod
metadata: {name: lonely}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: none}]
  containers: [{name: main, image: pause}]
`,
      );
      const { types, unschedulable, notes } = await launched([declared]);
      expect(types).toEqual([]);
      expect(JSON.stringify(unschedulable)).toContain('not created yet');
      expect(notes).toContainEqual(expect.stringMatching(/^ConfigMap mine: all\.yaml.*driver/));
    });

    it('learns devices from the slices of nodes', async () => {
      const slices = write(
        'living.yaml',
        `
apiVersion: v1
kind: Node
metadata:
  name: node-a
  labels: {karpenter.sh/nodepool: gpu, node.kubernetes.io/instance-type: g6.xlarge, karpenter.sh/initialized: "true", karpenter.sh/registered: "true", topology.kubernetes.io/zone: us-west-2a, karpenter.sh/capacity-type: on-demand, kubernetes.io/arch: amd64, kubernetes.io/os: linux}
spec: {providerID: "aws:///us-west-2a/i-1"}
status: {capacity: {cpu: "4", memory: 16Gi, pods: "58"}, allocatable: {cpu: "0", memory: 15Gi, pods: "58"}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: claim-a
  labels: {karpenter.sh/nodepool: gpu, karpenter.k8s.aws/instance-gpu-manufacturer: nvidia, karpenter.sh/capacity-type: on-demand, kubernetes.io/arch: amd64, nvidia.com/gpu.present: "true"}
spec: {requirements: []}
status: {providerID: "aws:///us-west-2a/i-1", nodeName: node-a, conditions: [{type: Launched, status: "True"}, {type: Registered, status: "True"}, {type: Initialized, status: "True"}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: slice-a}
spec:
  driver: gpu.nvidia.com
  nodeName: node-a
  pool: {name: node-a, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0, attributes: {type: {string: gpu}}, capacity: {memory: {value: 8Gi}}}]
`,
      );
      // the slice shows less memory than the table, so this type is too small
      const { types } = await launched([slices, example('dra/gpu.yaml')]);
      expect(types).toHaveLength(1);
      expect(types).not.toContain('g6.xlarge');
    });
  });
});
