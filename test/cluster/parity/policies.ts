/** ValidatingAdmissionPolicies with requests that they allow, refuse, warn of or fail on. */
import type { Request } from '../harness/http.ts';
import type { Json } from './script.ts';

const GROUP = 'admissionregistration.k8s.io/v1';
const ROOT = '/apis/admissionregistration.k8s.io/v1';
const NS = '/api/v1/namespaces/policed';
const MAPS = `${NS}/configmaps`;
const DEPLOYMENTS = '/apis/apps/v1/namespaces/policed/deployments';

const post = (path: string, body: Json): Request => ({ method: 'POST', path, body });

const rule = (resources: readonly string[], apiGroups: readonly string[] = [''], more: Json = {}): Json => ({
  apiGroups,
  apiVersions: ['v1'],
  operations: ['CREATE', 'UPDATE'],
  resources,
  ...more,
});

const policy = (name: string, spec: Json): Request =>
  post(`${ROOT}/validatingadmissionpolicies`, {
    apiVersion: GROUP,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec,
  });

const binding = (name: string, spec: Json = {}): Request =>
  post(`${ROOT}/validatingadmissionpolicybindings`, {
    apiVersion: GROUP,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'], ...spec },
  });

/** Of a ConfigMap whose name begins with the policy's, so that the policies do not meet. */
const about = (prefix: string): Json => ({
  matchConditions: [{ name: 'own', expression: `object.metadata.name.startsWith('${prefix}')` }],
  matchConstraints: { resourceRules: [rule(['configmaps'])] },
});

export const POLICIES: readonly Request[] = [
  post('/api/v1/namespaces', { metadata: { name: 'policed', labels: { team: 'a' } } }),
  policy('plain', { ...about('plain'), validations: [{ expression: "has(object.data) && 'a' in object.data" }] }),
  policy('worded', {
    ...about('worded'),
    variables: [
      { name: 'count', expression: 'has(object.data) ? object.data.size() : 0' },
      { name: 'double', expression: 'variables.count * 2' },
    ],
    validations: [
      {
        expression: 'variables.double <= 2',
        messageExpression: "'has ' + string(variables.count) + ' entries'",
        reason: 'Forbidden',
      },
      {
        expression: "object.metadata.name != 'worded-bad'",
        message: ' is called bad ',
        reason: 'RequestEntityTooLarge',
      },
    ],
  }),
  policy('failing', { ...about('failing'), validations: [{ expression: "object.data.none == 'a'" }] }),
  policy('open', {
    ...about('open'),
    failurePolicy: 'Ignore',
    validations: [{ expression: "object.data.none == 'a'" }],
  }),
  policy('conditional', {
    matchConditions: [{ name: 'breaks', expression: "object.data.none == 'a'" }],
    matchConstraints: { resourceRules: [rule(['configmaps'], [''], { resourceNames: ['conditional'] })] },
    validations: [{ expression: 'true' }],
  }),
  policy('warning', { ...about('warning'), validations: [{ expression: 'false', message: 'Careful' }] }),
  policy('params', {
    matchConstraints: { resourceRules: [rule(['configmaps'], [''], { resourceNames: ['params', 'params-many'] })] },
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    validations: [
      { expression: 'object.data.size() <= int(params.data.most)', messageExpression: "'most ' + params.data.most" },
    ],
  }),
  policy('kept', {
    matchConstraints: {
      resourceRules: [rule(['configmaps'], [''], { operations: ['DELETE'], resourceNames: ['kept'] })],
    },
    validations: [
      {
        expression: "object == null && oldObject.data.keep != 'yes' && request.operation == 'DELETE'",
        message: 'is kept',
      },
    ],
  }),
  policy('scaled', {
    matchConstraints: { resourceRules: [rule(['deployments', 'deployments/scale'], ['apps'])] },
    validations: [
      {
        expression: 'object.spec.replicas <= 3',
        messageExpression: "'at most 3: ' + request.resource.resource + '/' + request.subResource",
      },
    ],
  }),
  policy('namespaced', {
    matchConstraints: {
      resourceRules: [rule(['secrets'])],
      namespaceSelector: { matchLabels: { team: 'a' } },
      objectSelector: { matchExpressions: [{ key: 'checked', operator: 'Exists' }] },
    },
    validations: [
      {
        expression:
          "namespaceObject.metadata.labels.team == 'b' || !authorizer.group('').resource('secrets').check('get').allowed()",
        message: 'team a has no secrets',
      },
    ],
  }),
  policy('immutable', {
    ...about('immutable'),
    validations: [{ expression: 'oldObject == null || oldObject.data == object.data', message: 'data is immutable' }],
  }),
  policy('last', { ...about('last'), validations: [{ expression: 'false' }] }),
  binding('plain'),
  binding('worded'),
  binding('failing'),
  binding('open'),
  binding('conditional'),
  binding('warning', { validationActions: ['Warn', 'Audit'] }),
  binding('params', { paramRef: { name: 'limit', parameterNotFoundAction: 'Deny' } }),
  binding('kept'),
  binding('scaled'),
  binding('namespaced', {
    matchResources: { excludeResourceRules: [rule(['secrets'], [''], { resourceNames: ['spared'] })] },
  }),
  binding('immutable'),
  binding('last'),
];

const map = (name: string, data: Json = {}): Request =>
  post(MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });
const secret = (name: string, labels: Json = { checked: 'yes' }): Request =>
  post(`${NS}/secrets`, { apiVersion: 'v1', kind: 'Secret', metadata: { name, labels } });
const deployment = (replicas: number): Json => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image: 'pause' }] } },
  },
});
const merge = (path: string, body: Json): Request => ({
  method: 'PATCH',
  path,
  body,
  contentType: 'application/merge-patch+json',
});

/** Refused as soon as the last binding is known. */
export const PROBE: Request = {
  ...map('last-probe', { a: '1' }),
  path: `${MAPS}?dryRun=All`,
};

/** Refused by what the parameters say as soon as they are known. */
export const PARAMS_PROBE: Request = {
  ...map('params-many', { a: '1', b: '2' }),
  path: `${MAPS}?dryRun=All`,
};

export const REQUESTS: readonly (readonly [string, Request])[] = [
  ['what a policy allows', map('plain-good', { a: '1' })],
  ['what a policy refuses', map('plain-bad', { b: '1' })],
  ['a dry run that a policy refuses', { ...map('plain-dry'), path: `${MAPS}?dryRun=All` }],
  ['what no policy is about', map('other')],
  ['a message that is worked out', map('worded-many', { a: '1', b: '2' })],
  ['a fixed message', map('worded-bad')],
  ['an expression that fails', map('failing', { a: '1' })],
  ['an expression that fails where that is ignored', map('open', { a: '1' })],
  ['a condition that fails', map('conditional', { a: '1' })],
  ['what a policy warns of', map('warning')],
  ['parameters that are not there', map('params', { a: '1' })],
  ['the parameters', map('limit', { most: '1' })],
  ['what the parameters allow', map('params', { a: '1' })],
  ['what they refuse', map('params-many', { a: '1', b: '2' })],
  ['what is to be kept', map('kept', { keep: 'yes' })],
  ['a deletion that a policy refuses', { method: 'DELETE', path: `${MAPS}/kept` }],
  ['a change that lets it go', merge(`${MAPS}/kept`, { data: { keep: 'no' } })],
  ['a deletion that a policy allows', { method: 'DELETE', path: `${MAPS}/kept` }],
  ['a deployment', post(DEPLOYMENTS, deployment(3))],
  ['a deployment that is too large', merge(`${DEPLOYMENTS}/web`, { spec: { replicas: 4 } })],
  ['a scale that is too large', merge(`${DEPLOYMENTS}/web/scale`, { spec: { replicas: 5 } })],
  ['a scale', merge(`${DEPLOYMENTS}/web/scale`, { spec: { replicas: 1 } })],
  ['an object in a namespace by its labels', secret('refused')],
  ['an object without the labels', secret('unlabelled', {})],
  ['an object that the binding leaves out', secret('spared')],
  ['an object in another namespace', { ...secret('elsewhere'), path: '/api/v1/namespaces/default/secrets' }],
  ['an object that may not change', map('immutable', { a: '1' })],
  ['its change', merge(`${MAPS}/immutable`, { data: { a: '2' } })],
  ['a change of something else', merge(`${MAPS}/immutable`, { metadata: { labels: { a: 'b' } } })],
];

const broken = (name: string, spec: Json): Request =>
  policy(name, { matchConstraints: { resourceRules: [rule(['pods'])] }, ...spec });

/** Policies that are refused themselves; the wording shows the compiler's insides. */
export const BROKEN: readonly (readonly [string, Request])[] = [
  ['a policy that is no expression', broken('broken', { validations: [{ expression: 'object.' }] })],
  ['a policy of an unknown name', broken('unknown', { validations: [{ expression: 'nothing == 1' }] })],
  ['a policy that is no boolean', broken('text', { validations: [{ expression: "'a'" }] })],
  ['a policy with params but no kind of them', broken('kindless', { validations: [{ expression: 'params != null' }] })],
  [
    'a policy with a message that is no text',
    broken('number', { validations: [{ expression: 'true', messageExpression: '1' }] }),
  ],
  ['a policy without validations', broken('empty', {})],
];
