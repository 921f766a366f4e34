import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BROKEN, POLICIES, PROBE, REQUESTS } from '../../../../cluster/parity/policies.ts';
import { type Answer, type Body, type TestServer, testServer } from './client.ts';

/** What a real API server answers (test/cluster/policies.test.ts): the code, and the end of the message. */
const ANSWERS: Readonly<Record<string, readonly [code: number, message?: string]>> = {
  'what a policy allows': [201],
  'what a policy refuses': [422, "denied request: failed expression: has(object.data) && 'a' in object.data"],
  'a dry run that a policy refuses': [422, "failed expression: has(object.data) && 'a' in object.data"],
  'what no policy is about': [201],
  'a message that is worked out': [403, "'worded' with binding 'worded' denied request: has 2 entries"],
  'a fixed message': [413, 'denied request: is called bad'],
  'an expression that fails': [422, "expression 'object.data.none == 'a'' resulted in error: no such key: none"],
  'an expression that fails where that is ignored': [201],
  'a condition that fails': [422, "expression 'object.data.none == 'a'' resulted in error: no such key: none"],
  'what a policy warns of': [201],
  'parameters that are not there': [
    422,
    'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction',
  ],
  'the parameters': [201],
  'what the parameters allow': [201],
  'what they refuse': [422, 'denied request: most 1'],
  'what is to be kept': [201],
  'a deletion that a policy refuses': [422, 'denied request: is kept'],
  'a change that lets it go': [200],
  'a deletion that a policy allows': [200],
  'a deployment': [201],
  'a deployment that is too large': [422, 'failed expression: object.spec.replicas <= 3'],
  'a scale that is too large': [422, 'denied request: at most 3: deployments/scale'],
  'a scale': [200],
  'an object in a namespace by its labels': [422, 'denied request: team a has no secrets'],
  'an object without the labels': [201],
  'an object that the binding leaves out': [201],
  'an object in another namespace': [201],
  'an object that may not change': [201],
  'its change': [422, 'denied request: data is immutable'],
  'a change of something else': [200],
  'a policy that is no expression': [422, 'compilation failed'],
  'a policy of an unknown name': [422, 'compilation failed: Unknown variable: nothing'],
  'a policy that is no boolean': [422, 'must evaluate to bool'],
  'a policy with params but no kind of them': [422, 'compilation failed: Unknown variable: params'],
  'a policy with a message that is no text': [422, 'must evaluate to string'],
  'a policy without validations': [422, 'validations or auditAnnotations must contain at least one item'],
};

describe('ValidatingAdmissionPolicies', () => {
  let api: TestServer;
  const answers = new Map<string, Answer>();
  beforeAll(async () => {
    api = await testServer();
    const send = ({
      method,
      path,
      body,
      contentType = 'application/json',
    }: (typeof POLICIES)[number]): Promise<Answer> => api.call(method, path, body, { 'content-type': contentType });
    for (const request of POLICIES) await send(request);
    for (const [name, request] of [...REQUESTS, ...BROKEN]) answers.set(name, await send(request));
  });
  afterAll(() => api.server.close());

  it.each([...REQUESTS, ...BROKEN].map(([name]) => name))('answer %s as a real API server does', (name) => {
    const [code, message] = ANSWERS[name] ?? [];
    const { status, body } = answers.get(name) as Answer;
    expect([name, status]).toEqual([name, code]);
    if (message !== undefined) expect(body.message).toContain(message);
  });

  it('warn in a header', () => {
    expect(answers.get('what a policy warns of')?.headers.get('warning')).toBe(
      "299 - \"Validation failed for ValidatingAdmissionPolicy 'warning' with binding 'warning': Careful\"",
    );
  });

  it('end when their binding goes, which no policy can prevent', async () => {
    const { method, path, body } = PROBE;
    expect((await api.call(method, path, body)).status).toBe(422);
    await api.ok('DELETE', '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/last');
    expect((await api.call(method, path, body)).status).toBe(201);
  });

  it('see evictions as what is posted to the subresource', async () => {
    const root = '/apis/admissionregistration.k8s.io/v1';
    const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods/eviction'] };
    const spec = {
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: "object.kind != 'Eviction'" }],
    };
    await api.ok('POST', `${root}/validatingadmissionpolicies`, { metadata: { name: 'evictions' }, spec });
    const binding = { policyName: 'evictions', validationActions: ['Deny'] };
    await api.ok('POST', `${root}/validatingadmissionpolicybindings`, { metadata: { name: 'e' }, spec: binding });
    const pods = '/api/v1/namespaces/default/pods';
    const pod: Body = { metadata: { name: 'p' }, spec: { containers: [{ name: 'main', image: 'pause' }] } };
    await api.ok('POST', pods, pod);
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p', namespace: 'default' } };
    const answer = await api.call('POST', `${pods}/p/eviction`, eviction);
    expect([answer.status, answer.body.reason]).toEqual([422, 'Invalid']);
    await api.ok('DELETE', `${pods}/p`);
  });

  it('end when an expression, or all of a policy, costs more than it may', async () => {
    const root = '/apis/admissionregistration.k8s.io/v1';
    const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] };
    const deny = async (name: string, spec: Body): Promise<void> => {
      const constraints = { resourceRules: [{ ...rule, resourceNames: [name] }] };
      const policy = { metadata: { name }, spec: { matchConstraints: constraints, ...spec } };
      await api.ok('POST', `${root}/validatingadmissionpolicies`, policy);
      const binding = { policyName: name, validationActions: ['Deny'] };
      await api.ok('POST', `${root}/validatingadmissionpolicybindings`, { metadata: { name }, spec: binding });
    };
    const create = (name: string) =>
      api.call('POST', '/api/v1/namespaces/default/configmaps', {
        metadata: { name },
        data: { text: 'a'.repeat(9_000) },
      });
    const each = (body: string): string => `object.data.text.split('').all(a, ${body})`;

    const hostile = each(each('a == a'));
    await deny('hostile', { validations: [{ expression: hostile }] });
    const answer = await create('hostile');
    expect([answer.status, answer.body.message]).toEqual([
      422,
      expect.stringContaining(
        `expression '${hostile}' resulted in error: operation cancelled: actual cost limit exceeded`,
      ),
    ]);

    // each of them may be afforded
    await deny('many', {
      validations: Array.from({ length: 300 }, (_, at) => ({ expression: each(`a != 'b${at}'`) })),
    });
    expect((await create('many')).body.message).toContain(
      'validation failed due to running out of cost budget, no further validation rules will be run',
    );
    await deny('tolerant', { failurePolicy: 'Ignore', validations: [{ expression: hostile }] });
    expect((await create('tolerant')).status).toBe(201);
  });

  it('have the functions of the API server', async () => {
    const root = '/apis/admissionregistration.k8s.io/v1';
    const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] };
    const constraints = { resourceRules: [{ ...rule, resourceNames: ['addressed'] }] };
    const validations = [
      { expression: "cidr('10.0.0.0/8').containsIP(object.data.ip)", message: 'not one of ours' },
      { expression: "sets.contains(['a', 'b'], object.data.teams.split(','))" },
      { expression: "url(object.data.url).getScheme() == 'https'" },
      { expression: "!semver(object.data.version).isLessThan(semver('1.30.0'))" },
    ];
    const policy = { metadata: { name: 'addressed' }, spec: { matchConstraints: constraints, validations } };
    await api.ok('POST', `${root}/validatingadmissionpolicies`, policy);
    const binding = { policyName: 'addressed', validationActions: ['Deny'] };
    await api.ok('POST', `${root}/validatingadmissionpolicybindings`, {
      metadata: { name: 'addressed' },
      spec: binding,
    });
    const create = (ip: string) =>
      api.call('POST', '/api/v1/namespaces/default/configmaps', {
        metadata: { name: 'addressed' },
        data: { ip, teams: 'a', url: 'https://example.com', version: '1.34.2' },
      });
    expect((await create('11.1.2.3')).body.message).toContain('not one of ours');
    expect((await create('10.1.2.3')).status).toBe(201);
  });
});
