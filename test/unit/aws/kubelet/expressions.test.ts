import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, type EC2NodeClass, getCondition } from '#api/objects';
import {
  compileFailure,
  hasExpressions,
  type InstanceTypeFacts,
  resolveReserved,
  withMaxPods,
} from '../../../../src/aws/kubelet/expressions.ts';
import { Account, only } from '../support/account.ts';

const M5_LARGE: InstanceTypeFacts = {
  vcpus: 2,
  memoryMib: 8192,
  defaultEnis: 3,
  ipsPerEni: 10,
  instanceType: 'm5.large',
  maxPods: 29,
};

const zones = (count: number): string =>
  Array.from({ length: count }, () => "timestamp(1).getHours('Asia/Tokyo')").join(' + ');

describe('an expression for maxPods', () => {
  it.each([
    ['vcpus * 10', 20],
    ['min(max_pods, 110)', 29],
    ['max(vcpus, 7.9)', 7],
    ['-0.5', 0],
    ['default_enis * (ips_per_eni - 1) * 16 + 2', 434],
    ['memory_mib / 1000', 8],
    ["instance_type.startsWith('m5.') ? 12 : 20", 12],
    ['int(double(vcpus) * 1.75)', 3],
    ["['m5.large', 'm5.xlarge'].exists(type, type == instance_type) ? 12 : 20", 12],
    ["(instance_type) // matches\n . matches // matches\n('(?i)^M5') ? 12 : 20", 12],
    // These run on RE2. JavaScript regular expressions have no such flag and need exponential time for the second.
    ["instance_type.matches('(?i)^M5[.]') ? 12 : 20", 12],
    [`'${'a'.repeat(60)}!'.matches('^(a+)+$') && instance_type.matches('m5') ? 12 : 20`, 20],
  ])('evaluates %s to %i', (maxPods, pods) => {
    expect(compileFailure({ maxPods })).toBeUndefined();
    expect(withMaxPods({ maxPods }, M5_LARGE)).toEqual({ maxPods: pods });
  });

  it.each([
    ['vcpus - 3', 'evaluating expression, -1 is not between 0 and 2147483647 (field=spec.kubelet.maxPods)'],
    ['memory_mib * 1000000', 'is not between 0 and 2147483647 (field=spec.kubelet.maxPods)'],
    ['vcpus / 0', 'evaluating expression, division by zero (field=spec.kubelet.maxPods)'],
    ['double(vcpus) / 0.0', 'evaluating expression, the result is Infinity (field=spec.kubelet.maxPods)'],
  ])('has no usable value: %s', (maxPods, error) => {
    expect(() => withMaxPods({ maxPods }, M5_LARGE)).toThrow(error);
  });
});

describe('an expression that could take long to compile', () => {
  it.each([
    ['is long', `${'1 + '.repeat(300)}1`, 'it has 1201 characters, but at most 1000 are allowed'],
    ['has many parts', `${'1+'.repeat(200)}1`, 'Exceeded maxAstNodes'],
    ['has types that double', `[1]${'.map(x, {x: x})'.repeat(45)}.size()`, 'a key of a map is not a literal'],
  ])('is rejected with the remedy because it %s', (_, maxPods, error) => {
    expect(compileFailure({ maxPods })).toContain(`compiling expression, ${error}`);
    expect(compileFailure({ maxPods })).toContain('(field=spec.kubelet.maxPods)');
  });
});

describe('an expression whose evaluation could take long', () => {
  const list = `[${Array.from({ length: 90 }, (_, at) => at % 10).join()}]`;
  const digits = "['1111'].map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x)[0]";

  it.each([
    ['splits and joins', `instance_type${".split('').join('aaaaaaaaaaaaaaaaaaa')".repeat(6)}.size()`],
    ['doubles texts', `['ab']${'.map(t, t + t)'.repeat(40)}[0].size()`],
    ['doubles bytes', `[b'ab']${'.map(t, t + t)'.repeat(40)}[0].size()`],
    ['doubles lists', `[[1, 2]]${'.map(t, t + t)'.repeat(40)}[0].size()`],
    ['binds names', `${'cel.bind(t, t + t, '.repeat(20).replace('t + t', "'ab'")}t.size()${')'.repeat(20)}`],
    ['goes through lists within lists', `${list}.map(a, ${list}.filter(b, a > b).size()).size()`],
    ['passes over failures', `${list}.exists(a, ${list}.exists(b, a / 0 == b)) ? 1 : 2`],
    ['compiles large patterns', `instance_type.matches('${'a{1000}'.repeat(20)}') ? 1 : 2`],
    ['compiles named classes', `instance_type.matches('(?i)${'\\\\pL'.repeat(60)}') ? 1 : 2`],
    ['reads a long duration', `duration(${digits} + 's').getSeconds()`],
    ['reads nested JSON', `size(bytes(${digits.replaceAll('1111', '['.repeat(20))}).json())`],
    ['converts between time zones', `[1]${'.map(t, 1)'.repeat(2)}.size() + ${zones(12)}`],
  ])('fails with the limit and the remedy because it %s', (_, maxPods) => {
    expect(compileFailure({ maxPods })).toBeUndefined();
    expect(() => withMaxPods({ maxPods }, M5_LARGE)).toThrow(
      'evaluating expression, it costs more than 1000 units (steps, list items or ten characters each); ' +
        'use smaller lists and strings (field=spec.kubelet.maxPods)',
    );
  });

  it.each([
    ['a chain of ternaries', `${Array.from({ length: 12 }, (_, at) => `vcpus < ${at} ? ${at} : `).join('')}110`, 3],
    ['a list in a list', '[2, 4].exists(a, [1, 2].exists(b, a == b && b == vcpus)) ? 7 : 8', 7],
    ['a table', "{'m5': 12, 'c5': 20}[instance_type.split('.')[0]]", 12],
    ['a name', 'cel.bind(n, max_pods * 2, n > 110 ? 110 : n)', 58],
    ['separators of separators', `${"'ab'.split('').join(".repeat(9)}'x'${')'.repeat(9)}.size()`, 19],
    ['a pattern', "instance_type.matches('^[cm][0-9]{1,2}[a-z]{0,3}[.]') ? 1 : 2", 1],
  ])('is not a typical expression: %s', (_, maxPods, pods) => {
    expect(compileFailure({ maxPods })).toBeUndefined();
    expect(withMaxPods({ maxPods }, M5_LARGE)).toEqual({ maxPods: pods });
  });

  it('cannot raise its own limit with the counting functions', () => {
    expect(compileFailure({ maxPods: 'size(cost_of_loop_([1], -1000000))' })).toContain('cost_of_loop_');
  });

  it('keeps messages short', () => {
    const maxPods = `bool(['${'a'.repeat(60)}'].map(t, t + t).map(t, t + t).map(t, t + t)[0]) ? 1 : 2`;
    expect(compileFailure({ maxPods })).toBeUndefined();
    expect(() => withMaxPods({ maxPods }, M5_LARGE)).toThrow(
      /^evaluating expression, bool\(\) conversion error.{1,280}… \(field/,
    );
  });
});

describe('an expression for a reserved resource', () => {
  it.each([
    ['cpu', 'vcpus * 33', '70m'],
    ['memory', '11 * max_pods + 255', '576Mi'],
    ['ephemeral-storage', 'double(vcpus) * 1.6', '3Gi'],
    ['pid', 'max_pods * 10', '290'],
    ['memory', '512Mi', '512Mi'],
  ])('sets %s: %s is %s', (resource, text, quantity) => {
    const { kubeReserved } = resolveReserved({ kubeReserved: { [resource]: text } }, M5_LARGE);
    expect(kubeReserved).toEqual({ [resource]: quantity });
  });

  it('must not be negative', () => {
    expect(() => resolveReserved({ systemReserved: { cpu: 'vcpus - 4' } }, M5_LARGE)).toThrow(
      'evaluating expression, -2 is negative (field=spec.kubelet.systemReserved[cpu])',
    );
  });

  it('is omitted while the feature gate is off', () => {
    const kubelet = { kubeReserved: { cpu: 'vcpus * 10', memory: '1Gi' } };
    expect(resolveReserved(kubelet)).toEqual({ kubeReserved: { memory: '1Gi' }, systemReserved: {} });
  });
});

describe('hasExpressions', () => {
  it('distinguishes expressions from quantities', () => {
    expect(hasExpressions({ maxPods: 10, kubeReserved: { cpu: '100m' } })).toBe(false);
    expect(hasExpressions({ maxPods: '10' })).toBe(true);
    expect(hasExpressions({ systemReserved: { memory: 'vcpus' } })).toBe(true);
  });
});

describe('compileFailure', () => {
  it.each([
    ['pods + 1', 'Unknown variable: pods'],
    ['instance_type', 'the result must be int or double, not string'],
    ['vcpus * 1.5', 'no such overload: int * double'],
    ['vcpus +', 'Unexpected token'],
  ])('names the failure of %s', (maxPods, error) => {
    expect(compileFailure({ maxPods })).toMatch(/^compiling expression, .* \(field=spec\.kubelet\.maxPods\)$/);
    expect(compileFailure({ maxPods })).toContain(error);
  });
});

describe('a NodeClass with expressions', () => {
  let account: Account;
  beforeAll(async () => {
    account = await Account.open({ flags: ['--aws-feature-gates=NodeClassCEL=true'] });
  });
  afterAll(() => account.close());

  async function resolve(kubelet: NonNullable<EC2NodeClass['spec']['kubelet']>) {
    const { metadata, spec } = account.nodeClass();
    const generation = (metadata.generation ?? 0) + 1;
    account.kube.put(EC2_NODE_CLASS, {
      ...account.nodeClass(),
      metadata: { ...metadata, generation },
      spec: { ...spec, kubelet },
    });
    await account.reconcileNodeClass();
    const found = getCondition(account.nodeClass(), 'ValidationSucceeded');
    return { status: found?.status, reason: found?.reason, message: found?.message };
  }

  it('determines the size of types and sets the values of each node', async () => {
    const kubelet = { maxPods: 'min(max_pods, vcpus * 12)', kubeReserved: { cpu: 'vcpus * 33', memory: '640Mi' } };
    expect(await resolve(kubelet)).toMatchObject({ status: 'True' });
    const claim = account.claim(only('node.kubernetes.io/instance-type', 'm5.large'));
    const { status } = await account.provider.create(claim);
    expect(status?.capacity?.pods).toBe('24');
    expect(status?.allocatable?.cpu).toBe('1930m');
    const [instance] = account.aws.instances.list();
    expect(instance?.userData).toContain('maxPods: 24');
    expect(instance?.userData).toContain('kubeReserved:\n        cpu: 70m\n        memory: 640Mi\n');

    account.aws.calls.clear();
    const types = only('node.kubernetes.io/instance-type', 'm5.large', 'm5.xlarge');
    await account.provider.create(account.claim(types));
    const [fleet] = account.aws.calls.recorded('CreateFleet');
    expect((fleet?.input as { LaunchTemplateConfigs: object[] }).LaunchTemplateConfigs).toHaveLength(2);
  });

  it('is not ready if the cost of one expression exceeds the limit for a type', async () => {
    const kubeReserved = { memory: `instance_type${".split('').join('aaaaaaaaaaaaaaaaaaa')".repeat(6)}.size()` };
    expect(await resolve({ kubeReserved })).toEqual({
      status: 'False',
      reason: 'KubeletExpressionEvaluationFailed',
      message: expect.stringMatching(
        /it costs more than 1000 units .* \(field=spec\.kubelet\.kubeReserved\[memory\]\) \(instance-type=/,
      ),
    });
  });

  it('is not ready if an expression does not compile or has no value for a type', async () => {
    expect(await resolve({ maxPods: 'cores' })).toEqual({
      status: 'False',
      reason: 'KubeletExpressionInvalid',
      message: 'compiling expression, Unknown variable: cores (field=spec.kubelet.maxPods)',
    });
    expect(await resolve({ kubeReserved: { cpu: 'vcpus - 4' } })).toMatchObject({
      status: 'False',
      reason: 'KubeletExpressionEvaluationFailed',
      message: expect.stringMatching(/is negative \(field=spec\.kubelet\.kubeReserved\[cpu\]\) \(instance-type=/),
    });
  });
});
