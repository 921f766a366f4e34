import { describe, expect, it } from '@jest/globals';
import { parseAwsSettings } from '#aws/settings';
import { HelpRequested, SettingsError } from '../../../src/process/settings.ts';

const CLUSTER = { CLUSTER_NAME: 'demo' };

const settings = (argv: readonly string[] = [], env: Record<string, string> = {}) =>
  parseAwsSettings(argv, { ...CLUSTER, ...env });

const SPREAD =
  '{podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}]}}';

describe('parseAwsSettings', () => {
  it('accepts options of Karpenter without effect, and leaves them out', () => {
    const args = ['--karpenter-service=web', '--disable-controller-warmup=false'];
    expect(settings(args, { KUBERNETES_MIN_VERSION: '1.19.0-0' })).toEqual(settings());
    expect(() => settings(['--disable-controller-warmup=perhaps'])).toThrow();
  });

  it('returns the documented defaults', () => {
    expect(settings()).toMatchObject({
      metricsPort: 8080,
      healthProbePort: 8081,
      kubeClientQps: 200,
      kubeClientBurst: 300,
      disableLeaderElection: false,
      leaderElectionName: 'karpenter-leader-election',
      leaderElectionNamespace: '',
      memoryLimit: -1,
      cpuRequests: 1000,
      logLevel: 'info',
      logOutputPaths: ['stdout'],
      logErrorOutputPaths: ['stderr'],
      batchMaxMs: 10_000,
      batchIdleMs: 1_000,
      preferencePolicy: 'Priced',
      minValuesPolicy: 'Strict',
      ignoreDraRequests: true,
      priceBook: '',
      clusterName: 'demo',
      vmMemoryOverheadPercent: 0.075,
      interruptionQueue: '',
      reservedEnis: 0,
      amiRefreshIntervalMs: 60_000,
      subnetRefreshIntervalMs: 60_000,
      featureGates: {
        nodeRepair: false,
        reservedCapacity: true,
        spotToSpotConsolidation: false,
        nodeOverlay: false,
        staticCapacity: true,
        capacityBuffer: true,
      },
      awsFeatureGates: { nodeClassCel: false },
      defaultTopologySpreadConstraints: [],
      systemNamespace: '',
    });
  });

  it.each([
    { when: 'environment over default', argv: [], env: { METRICS_PORT: '9000' }, is: { metricsPort: 9000 } },
    {
      when: 'flag over environment',
      argv: ['--metrics-port=9001'],
      env: { METRICS_PORT: '9000' },
      is: { metricsPort: 9001 },
    },
    { when: 'one dash', argv: ['-metrics-port=1'], env: {}, is: { metricsPort: 1 } },
    { when: 'value as the next argument', argv: ['--metrics-port', '1'], env: {}, is: { metricsPort: 1 } },
    { when: 'the last of several', argv: ['--metrics-port=1', '--metrics-port=2'], env: {}, is: { metricsPort: 2 } },
    {
      when: 'a switch alone',
      argv: ['--isolated-vpc', '--metrics-port=1'],
      env: {},
      is: { isolatedVpc: true, metricsPort: 1 },
    },
    { when: 'a switch with a value', argv: ['--ignore-dra-requests=false'], env: {}, is: { ignoreDraRequests: false } },
    { when: 'a lax boolean', argv: [], env: { ISOLATED_VPC: 'T' }, is: { isolatedVpc: true } },
    { when: 'a lax false', argv: [], env: { IGNORE_DRA_REQUESTS: '0' }, is: { ignoreDraRequests: false } },
    {
      when: 'an invalid boolean in the environment',
      argv: [],
      env: { ISOLATED_VPC: 'yes' },
      is: { isolatedVpc: false },
    },
    {
      when: 'an invalid number in the environment',
      argv: [],
      env: { METRICS_PORT: 'http' },
      is: { metricsPort: 8080 },
    },
    { when: 'an empty variable', argv: [], env: { RESERVED_ENIS: '' }, is: { reservedEnis: 0 } },
    { when: 'a duration', argv: ['--batch-max-duration=1m30s'], env: {}, is: { batchMaxMs: 90_000 } },
    {
      when: 'a duration in the environment',
      argv: [],
      env: { BATCH_IDLE_DURATION: '250ms' },
      is: { batchIdleMs: 250 },
    },
    { when: 'CPU requests of zero', argv: [], env: { CPU_REQUESTS: '0' }, is: { cpuRequests: 1000 } },
    { when: 'an empty log level', argv: [], env: { LOG_LEVEL: '' }, is: { logLevel: 'info' } },
    {
      when: 'several log outputs',
      argv: ['--log-output-paths=stdout, /tmp/x.log'],
      env: {},
      is: { logOutputPaths: ['stdout', '/tmp/x.log'] },
    },
    {
      when: 'the pod namespace',
      argv: [],
      env: { SYSTEM_NAMESPACE: 'kube-system' },
      is: { systemNamespace: 'kube-system' },
    },
    { when: 'an argument after --', argv: ['--', '--nonsense'], env: {}, is: { metricsPort: 8080 } },
  ])('handles $when', ({ argv, env, is }) => {
    expect(settings(argv, env as Record<string, string>)).toMatchObject(is);
  });

  it.each([
    { gates: 'NodeRepair=true,ReservedCapacity=false', is: { nodeRepair: true, reservedCapacity: false } },
    { gates: ' NodeOverlay = 1 ,Drift=true', is: { nodeOverlay: true, reservedCapacity: true } },
  ])('reads feature gates $gates and ignores unknown ones', ({ gates, is }) => {
    expect(settings([], { FEATURE_GATES: gates }).featureGates).toMatchObject(is);
  });

  it.each([
    [{}, true],
    [{ IGNORE_DRA_REQUESTS: 'false' }, false],
    [{ AWS_FEATURE_GATES: 'DRAEFA=false' }, true],
    [{ AWS_FEATURE_GATES: 'DRAEFA=true', IGNORE_DRA_REQUESTS: 'true' }, false],
    [{ AWS_FEATURE_GATES: 'NodeClassCEL=true,DRANVIDIAGPU=true' }, false],
    [{ AWS_FEATURE_GATES: 'DRANeuron=true' }, false],
  ])('ignores resource claims unless a setting or the gate of a driver permits them: %p', (env, ignores) => {
    expect(settings([], env).ignoreDraRequests).toBe(ignores);
  });

  it.each([
    ['no gates', {}, []],
    ['known gates', { FEATURE_GATES: 'NodeRepair=true', AWS_FEATURE_GATES: 'NodeClassCEL=true' }, []],
    [
      'a shortened name',
      { FEATURE_GATES: 'SpotToSpot=true' },
      ['FEATURE_GATES: unknown feature gate "SpotToSpot" is ignored; did you mean SpotToSpotConsolidation?'],
    ],
    [
      'a misspelled name',
      { AWS_FEATURE_GATES: 'nodeclasCEL=true' },
      [expect.stringMatching(/^AWS_FEATURE_GATES.*did you mean NodeClassCEL\?$/)],
    ],
    [
      'the gate of an older release',
      { FEATURE_GATES: 'Drift=true' },
      [expect.stringMatching(/"Drift" is ignored; use one of ReservedCapacity, /)],
    ],
    [
      'costs of pods on marked nodes without marks',
      { POD_DELETION_COST: 'true', CONSOLIDATION: 'compatible' },
      ['POD_DELETION_COST has no effect, because STEERING is off'],
    ],
    [
      'costs of pods that all have spread constraints',
      { POD_DELETION_COST: 'true', SCHEDULER_CONFIG: SPREAD },
      ['POD_DELETION_COST has no effect, because SCHEDULER_CONFIG has default topology spread constraints'],
    ],
  ])('reports settings without effect: %s', (_, env, ignored) => {
    expect(settings([], env).ignored).toEqual(ignored);
  });

  it.each([
    { argv: ['--isolated-vpc=yes'], says: '"yes" is not a valid value, must be true or false' },
    { argv: ['--metrics-port=http'], says: 'invalid value "http" for flag -metrics-port' },
    { argv: ['--metrics-port'], says: 'flag needs an argument: -metrics-port' },
    { argv: ['--nonsense=1'], says: 'flag provided but not defined: -nonsense' },
    { argv: ['batch'], says: 'unexpected argument "batch"' },
    { argv: ['--batch-max-duration=10'], says: 'invalid value "10" for flag -batch-max-duration' },
    { argv: ['--log-level=warn'], says: 'validating cli flags / env vars, invalid LOG_LEVEL "warn"' },
    {
      argv: ['--preference-policy=Maybe'],
      says: 'invalid PREFERENCE_POLICY "Maybe", must be Priced or Respect or Ignore',
    },
    { argv: ['--min-values-policy=x'], says: 'invalid MIN_VALUES_POLICY "x", must be Strict or BestEffort' },
    { argv: ['--packing=tight'], says: 'invalid PACKING "tight", must be cheapest or compatible' },
    { argv: ['--consolidation=off'], says: 'invalid CONSOLIDATION "off", must be thorough or compatible' },
    {
      argv: ['--feature-gates=NodeRepair'],
      says: 'parsing feature gates, malformed pair "NodeRepair" in FEATURE_GATES, expect string=bool',
    },
    {
      argv: ['--feature-gates=NodeRepair=maybe'],
      says: 'parsing feature gates, invalid value of NodeRepair in FEATURE_GATES: "maybe", must be true or false',
    },
    { argv: ['--aws-feature-gates=NodeClassCEL'], says: 'malformed pair "NodeClassCEL" in AWS_FEATURE_GATES' },
    {
      argv: ['--cluster-endpoint=example.com'],
      says: '"example.com" cluster endpoint URL is not valid (CLUSTER_ENDPOINT must be an absolute URL',
    },
    {
      argv: ['--ami-refresh-interval=30s'],
      says: 'ami-refresh-interval must be at least 1m (AMI_REFRESH_INTERVAL is 30s)',
    },
    {
      argv: ['--subnet-refresh-interval=0s'],
      says: 'subnet-refresh-interval must be at least 1m (SUBNET_REFRESH_INTERVAL is 0s)',
    },
    {
      argv: ['--vm-memory-overhead-percent=7.5'],
      says: 'must be less than 1, for example 0.075 for 7.5 % (VM_MEMORY_OVERHEAD_PERCENT is 7.5)',
    },
    {
      argv: ['--batch-idle-duration=-1s'],
      says: 'batch-idle-duration cannot be negative (BATCH_IDLE_DURATION is -1s)',
    },
    { argv: ['--spot-risk=-0.5'], says: 'spot-risk must be a weight from 0 to 100 (SPOT_RISK is -0.5)' },
    { argv: ['--spot-risk=101'], says: 'spot-risk must be a weight from 0 to 100 (SPOT_RISK is 101)' },
    {
      argv: ['--expected-cpu-utilization=70'],
      says: 'expected-cpu-utilization must be a part of the requested CPU from 0 to 1 (EXPECTED_CPU_UTILIZATION is 70)',
    },
    { argv: ['--metrics-port=70000'], says: 'metrics-port must be from 0 to 65535 (METRICS_PORT is 70000)' },
    { argv: ['--health-probe-port=-1'], says: 'health-probe-port must be from 0 to 65535 (HEALTH_PROBE_PORT is -1)' },
  ])('rejects $argv', ({ argv, says }) => {
    expect(() => settings(argv)).toThrow(SettingsError);
    expect(() => settings(argv)).toThrow(says);
  });

  it('reports all errors of the AWS settings together', () => {
    const argv = ['--reserved-enis=-1', '--vm-memory-overhead-percent=-0.1'];
    expect(() => parseAwsSettings(argv, {})).toThrow(
      'validating options, missing field, cluster-name (set CLUSTER_NAME or --cluster-name); ' +
        'vm-memory-overhead-percent cannot be negative (VM_MEMORY_OVERHEAD_PERCENT is -0.1); ' +
        'reserved-enis cannot be negative (RESERVED_ENIS is -1)',
    );
  });

  it('rejects an invalid log level with exactly the error text of Karpenter', () => {
    expect(() => settings(['--log-level=warn'])).toThrow(
      /^validating cli flags \/ env vars, invalid LOG_LEVEL "warn"$/,
    );
  });

  it.each(['-h', '--help'])('prints the usage for %s', (flag) => {
    expect(() => settings([flag])).toThrow(HelpRequested);
    expect(() => settings([flag])).toThrow('--batch-idle-duration');
    expect(() => settings([flag])).toThrow('env AMI_REFRESH_INTERVAL (default 1m)');
  });
});

describe('the live page', () => {
  const parse = (env: Record<string, string>) => parseAwsSettings([], { CLUSTER_NAME: 'test', ...env }).livePage;
  const TOKEN = 'a-token-that-is-long-enough';

  it('is disabled unless an address is set', () => {
    expect([parse({}), parse({ LIVE_PAGE: '' })]).toEqual([undefined, undefined]);
  });

  it.each([
    ['127.0.0.1:8090', '127.0.0.1', 8090],
    ['localhost:0', '127.0.0.1', 0],
    ['[::1]:8090', '::1', 8090],
  ])('is served at %s without a token', (text, host, port) => {
    expect(parse({ LIVE_PAGE: text })).toEqual({ address: { host, port }, token: '' });
  });

  it('is served to other machines only with a token', () => {
    expect(() => parse({ LIVE_PAGE: '0.0.0.0:8090' })).toThrow(/set LIVE_PAGE_TOKEN, or use 127.0.0.1/);
    expect(() => parse({ LIVE_PAGE: '0.0.0.0:8090', LIVE_PAGE_TOKEN: 'short' })).toThrow(/at least 16 characters/);
    const { address, token } = parse({ LIVE_PAGE: '[::]:8090', LIVE_PAGE_TOKEN: TOKEN }) ?? {};
    expect([address, token]).toEqual([{ host: '::', port: 8090 }, TOKEN]);
  });

  it.each([
    '8090',
    ':8090',
    'karpenter:8090',
    '127.0.0.1',
    '127.0.0.1:99999',
    '::1:8090',
    '[127.0.0.1]:80',
    'true',
  ])('rejects the address %j', (text) => {
    expect(() => parse({ LIVE_PAGE: text })).toThrow(/invalid LIVE_PAGE .* for example 127.0.0.1:8090/);
  });
});

describe('scheduler config', () => {
  const config = (document: string) => settings([], { SCHEDULER_CONFIG: document }).defaultTopologySpreadConstraints;
  const zone = 'topology.kubernetes.io/zone';
  const entry = (more: string): string =>
    `podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: ${zone}, whenUnsatisfiable: ScheduleAnyway${more}}]}`;

  it('reads the default constraints', () => {
    expect(config(entry(', minDomains: 2'))).toEqual([
      { maxSkew: 1, topologyKey: zone, whenUnsatisfiable: 'ScheduleAnyway', minDomains: 2 },
    ]);
    expect(config('{}')).toEqual([]);
  });

  const at = 'validating scheduler config, podTopologySpread.defaultConstraints[0]';
  it.each([
    {
      document: 'podSpread: {}',
      says: 'parsing scheduler config, decoding scheduler config, unknown field "podSpread"',
    },
    { document: entry(', weight: 1'), says: 'unknown field "podTopologySpread.defaultConstraints[0].weight"' },
    { document: '{', says: 'parsing scheduler config, decoding scheduler config, ' },
    { document: entry('').replace('maxSkew: 1', 'maxSkew: 0'), says: `${at}.maxSkew must be greater than 0` },
    { document: entry('').replace(zone, '""'), says: `${at}.topologyKey must be set` },
    { document: entry('').replace(zone, 'a b'), says: `${at}.topologyKey "a b" is not a valid label name, ` },
    {
      document: entry('').replace('ScheduleAnyway', 'Never'),
      says: `${at}.whenUnsatisfiable "Never" must be one of "DoNotSchedule" or "ScheduleAnyway"`,
    },
    {
      document: entry(', labelSelector: {}'),
      says: `${at}.labelSelector must not be set, as selectors are deduced for each pod`,
    },
    {
      document: entry(', matchLabelKeys: [app]'),
      says: `${at}.matchLabelKeys must not be set, as it has no effect on default constraints`,
    },
    {
      document: entry(`}, {maxSkew: 2, topologyKey: ${zone}, whenUnsatisfiable: ScheduleAnyway`),
      says: `defaultConstraints[1] is a duplicate of [0], {${zone}, ScheduleAnyway}`,
    },
  ])('rejects $document', ({ document, says }) => {
    expect(() => config(document)).toThrow(says);
  });
});
