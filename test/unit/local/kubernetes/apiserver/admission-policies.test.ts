import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Body, type TestServer, testServer } from './client.ts';

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const CONFIGS = '/api/v1/namespaces/default/configmaps';

const RULE = { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE', 'DELETE'] };
const policy = (name: string, spec: Body): Body => ({
  metadata: { name },
  spec: { failurePolicy: 'Fail', matchConstraints: { resourceRules: [RULE] }, ...spec },
});
const binding = (policyName: string, ...validationActions: readonly string[]): Body => ({
  metadata: { name: policyName },
  spec: { policyName, validationActions },
});
const config = (name: string, data: Body, labels = {}): Body => ({ metadata: { name, labels }, data });

describe('a ValidatingAdmissionPolicy of the local API server', () => {
  let api: TestServer;
  beforeAll(async () => {
    api = await testServer();
    const validations = [
      {
        expression: "request.operation == 'DELETE' || variables.size <= 3",
        messageExpression: "'size ' + string(variables.size)",
      },
      { expression: "object == null || object.data.name != 'root'", reason: 'Forbidden' },
    ];
    const variables = [{ name: 'size', expression: 'int(object.data.size)' }];
    const matchConditions = [{ name: 'sized', expression: "object == null || 'size' in object.data" }];
    await api.ok(
      'POST',
      `${ADMISSION}/validatingadmissionpolicies`,
      policy('small', { validations, variables, matchConditions }),
    );
    await api.ok('POST', `${ADMISSION}/validatingadmissionpolicybindings`, binding('small', 'Deny'));
    await api.ok(
      'POST',
      `${ADMISSION}/validatingadmissionpolicies`,
      policy('named', { validations: [{ expression: "object == null || 'name' in object.data", message: 'no name' }] }),
    );
    await api.ok('POST', `${ADMISSION}/validatingadmissionpolicybindings`, binding('named', 'Warn'));
    await api.ok(
      'POST',
      `${ADMISSION}/validatingadmissionpolicies`,
      policy('unbound', { validations: [{ expression: 'false' }] }),
    );
  });
  afterAll(() => api.server.close());

  it.each([
    { data: { name: 'a', size: '3' }, status: 201, message: undefined },
    { data: { name: 'a', size: '4' }, status: 422, message: 'denied request: size 4' },
    {
      data: { name: 'root', size: '1' },
      status: 403,
      message: "failed expression: object == null || object.data.name != 'root'",
    },
    { data: { name: 'a', size: 'x' }, status: 422, message: 'resulted in error' },
    { data: { name: 'root' }, status: 201, message: undefined },
  ])('returns $status for $data', async ({ data, status, message }) => {
    const answer = await api.call('POST', `${CONFIGS}?dryRun=All`, config('one', data));
    expect(answer.status).toBe(status);
    if (message !== undefined)
      expect(answer.body.message).toMatch(
        `configmaps "one" is forbidden: ValidatingAdmissionPolicy 'small' with binding 'small'`,
      );
    expect(answer.body.message ?? '').toContain(message ?? '');
  });

  it('returns a warning if its binding warns', async () => {
    const { headers } = await api.call('POST', CONFIGS, config('two', { size: '1' }));
    expect(headers.get('warning')).toContain(`'named' with binding 'named': no name`);
  });

  it.each([
    { spec: { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' }, validations: [] }, field: 'spec.paramKind' },
    { spec: { validations: [{ expression: 'authorizer.allowed()' }] }, field: 'spec.validations[0].expression' },
    { spec: { variables: [{ name: 'a', expression: '1 +' }] }, field: 'spec.variables[0].expression' },
  ])('is refused if it cannot be evaluated: $field', async ({ spec, field }) => {
    const answer = await api.call('POST', `${ADMISSION}/validatingadmissionpolicies`, policy('other', spec));
    expect(answer).toMatchObject({ status: 422, body: { details: { causes: [{ field }] } } });
  });
});
