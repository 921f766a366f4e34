/** An edit of a text keeps all unrelated parts. */
import { describe, expect, it } from '@jest/globals';
import { convertText, convertTexts } from './convert-text.ts';

const POOL = `# of the team
apiVersion: karpenter.sh/v1beta1 # old
kind: NodePool
metadata:
    name: a

spec:
    # first the disruption
    disruption:
        consolidationPolicy: WhenEmpty # careful
        consolidateAfter: 30s
        expireAfter: 24h # a day
    template:
        spec:
            nodeClassRef:
                name: c
            requirements:
            -   key: team # whose
                operator: In
                values: [a, "b"]
            -   {key: acct, operator: In, values: ["012345678901"]}
`;
const OTHER = `apiVersion: v1
kind: ConfigMap
metadata: {name:   odd,   labels: &l {a:    b}}
data:
  long:    >-
    folded
    text
  account: 012345678901
  again: *l
# the end
`;

describe('a document', () => {
  it('is kept byte by byte between changed documents if it has no old objects', () => {
    const { text } = convertText(`${OTHER}---\n${POOL}...\n# between\n---\n\n${OTHER}`);
    expect(text.startsWith(`${OTHER}---\n`)).toBe(true);
    expect(text.endsWith(`# between\n---\n\n${OTHER}`)).toBe(true);
    expect(text).toContain('apiVersion: karpenter.sh/v1 # old');
  });

  it('keeps comments, order, indentation and brackets when it changes', () => {
    expect(convertText(POOL).text).toBe(
      POOL.replace('v1beta1', 'v1')
        .replace('        expireAfter: 24h # a day\n', '')
        .replace('name: c', 'group: karpenter.k8s.aws\n                kind: EC2NodeClass\n                name: c')
        // Lists lose unusual indentation.
        .replaceAll('            -   ', '              - ')
        .concat('            expireAfter: 24h # a day\n'),
    );
  });

  it.each([
    ['CRLF', (text: string) => text.replaceAll('\n', '\r\n')],
    ['a byte order mark', (text: string) => `\uFEFF${text}`],
    ['no last line break', (text: string) => text.slice(0, -1)],
  ])('keeps %s', (_, as) => {
    expect(convertText(as(OTHER)).text).toBe(as(OTHER));
    const { text } = convertText(as(`${OTHER}---\n${POOL}`));
    expect(text.startsWith(as(OTHER).slice(0, 40))).toBe(true);
    expect(text.includes('\r')).toBe(as('\n').includes('\r'));
  });

  it('stays JSON if it is JSON, and additional objects make a List', () => {
    const provisioner = {
      apiVersion: 'karpenter.sh/v1alpha5',
      kind: 'Provisioner',
      metadata: { name: 'a' },
      spec: { provider: { subnetSelector: { a: 'b' }, securityGroupSelector: { a: 'b' } } },
    };
    const { texts } = convertTexts({ 'p.json': `${JSON.stringify(provisioner, null, 4)}\n` });
    const list = JSON.parse(texts[0] ?? '') as { kind: string; items: { kind: string }[] };
    expect([list.kind, ...list.items.map(({ kind }) => kind)]).toEqual(['List', 'NodePool', 'EC2NodeClass']);
    expect(texts[0]).toMatch(/^\{\n {4}"apiVersion"/);
  });

  it('gets new types for its Lists, and loses Machines', () => {
    const list = `apiVersion: karpenter.sh/v1beta1\nkind: NodePoolList\nitems:\n- ${POOL.replace(/^# .*\n/, '')
      .trim()
      .replaceAll('\n', '\n  ')}\n`;
    const { text, errors } = convertText(list);
    expect(errors).toEqual([]);
    expect(text).toMatch(/^apiVersion: karpenter.sh\/v1\nkind: NodePoolList\n/);
    const machine = '- {apiVersion: karpenter.sh/v1alpha5, kind: Machine, metadata: {name: m}}\n';
    const mixed = convertText(
      `apiVersion: v1\nkind: List\nitems:\n${machine}- {apiVersion: v1, kind: Node, metadata: {name: n}}\n`,
    );
    expect(mixed.objects.map(({ kind }) => kind)).toEqual(['Node']);
  });

  it('keeps anchors in workloads, and writes them out in objects of Karpenter', () => {
    const workload = `apiVersion: apps/v1
kind: Deployment
metadata: {name: w}
spec:
  selector: {matchLabels: &l {app: w}}
  template:
    metadata:
      labels: *l
      annotations:
        karpenter.sh/do-not-evict: "true"
`;
    expect(convertText(workload).text).toContain('labels: *l');
    const pools = `apiVersion: v1
kind: List
items:
- &base
  apiVersion: karpenter.sh/v1beta1
  kind: NodePool
  metadata: {name: a}
  spec: {template: {spec: {nodeClassRef: {name: c}, requirements: &r [{key: k, operator: Exists}]}}}
- <<: *base
  metadata: {name: b}
`;
    const { objects, errors } = convertText(pools);
    expect(errors).toEqual([]);
    expect(objects.map(({ apiVersion, metadata }) => `${apiVersion} ${metadata.name}`)).toEqual(
      ['karpenter.sh/v1 b', 'karpenter.sh/v1 a'].reverse(),
    );
  });

  it('is an error if it has Helm templates and would have to change', () => {
    const text = POOL.replace('name: c', 'name: {{ .Values.class }}');
    const { errors, text: kept } = convertText(text);
    expect(errors).toEqual([expect.stringContaining('NodePool a: is a template; set its placeholders with')]);
    expect(kept).toBe(text);
  });
});

describe('a workload', () => {
  it('uses the current names, with notes for removed names', () => {
    const { text, notes } = convertText(`apiVersion: batch/v1
kind: CronJob
metadata: {name: c}
spec:
  jobTemplate:
    spec:
      template:
        metadata:
          annotations:
            karpenter.sh/do-not-evict: "true" # long run
          labels: {karpenter.sh/do-not-evict: "true"}
        spec:
          nodeSelector:
            karpenter.sh/provisioner-name: apps
            karpenter.k8s.aws/instance-pods: "10"
          tolerations:
            - key: karpenter.sh/disruption
              value: disrupting
              effect: NoSchedule
          topologySpreadConstraints:
            - {maxSkew: 1, topologyKey: karpenter.sh/provisioner-name, whenUnsatisfiable: DoNotSchedule}
          affinity:
            nodeAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
                nodeSelectorTerms:
                  - matchExpressions:
                      - {key: karpenter.sh/provisioner-name, operator: DoesNotExist}
                      - {key: karpenter.k8s.aws/instance-pods, operator: Gt, values: ["5"]}
            podAntiAffinity:
              preferredDuringSchedulingIgnoredDuringExecution:
                - {weight: 1, podAffinityTerm: {topologyKey: karpenter.sh/provisioner-name}}
`);
    expect(text).toMatchSnapshot();
    expect(notes).toMatchSnapshot();
    expect(convertText(text).text).toBe(text);
  });
});

describe('a tree of Kustomize', () => {
  const files = {
    'overlay/kustomization.yaml': `resources: [../base]
patchesStrategicMerge: [pool.yaml]
patches:
- path: json.yaml
  target: {kind: Provisioner, name: a}
`,
    'overlay/pool.yaml': `apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: a}
spec:
  ttlSecondsUntilExpired: 3600
`,
    'overlay/json.yaml': '- op: replace\n  path: /spec/limits/resources/cpu\n  value: 5\n',
  };

  it('has patches that are converted as far as possible', () => {
    const { texts, notes, errors } = convertTexts(files);
    expect(errors).toEqual([]);
    expect(texts[0]).toBe(files['overlay/kustomization.yaml']);
    expect(texts[1]).toBe(`apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec:
  template:
    spec:
      expireAfter: 1h
`);
    expect(texts[2]).toBe(files['overlay/json.yaml']);
    expect(notes).toEqual([
      'changed: overlay/kustomization.yaml, document 1, Kustomization: patches[0].target.kind: Provisioner is now NodePool of v1',
      'changed: overlay/kustomization.yaml, document 1, Kustomization: patches[0]: /spec/limits/resources/cpu is now /spec/limits',
    ]);
  });
});

it('reports the settings ConfigMap key by key', () => {
  const { notes, text } = convertText(
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: karpenter-global-settings}\ndata: {aws.clusterName: x, aws.tags: "{}"}\n',
  );
  expect(text).toContain('{aws.clusterName: x, aws.tags: "{}"}');
  expect(notes).toHaveLength(3);
  expect(notes[1]).toContain('is now the chart value settings.clusterName (CLUSTER_NAME)');
});
