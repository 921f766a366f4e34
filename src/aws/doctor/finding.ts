/** Findings of the doctor, and helpers that run its checks. */
import type { Finding } from '#cloud';
import { codeOf, describeError, isDryRun } from '../errors.ts';

export const fine = (subject: string, message: string): Finding => ({ level: 'ok', subject, message });
export const warning = (subject: string, message: string, fix: string): Finding => ({
  level: 'warning',
  subject,
  message,
  fix,
});
export const unknownFinding = (subject: string, message: string, fix: string): Finding => ({
  ...warning(subject, message, fix),
  unasked: true,
});
export const problem = (subject: string, message: string, fix: string): Finding => ({
  level: 'error',
  subject,
  message,
  fix,
});

const DENIED = /UnauthorizedOperation|AccessDenied|AuthFailure|NotAuthorized/;

export const isDenied = (error: unknown): boolean => DENIED.test(codeOf(error));

/** Patterns of actions, each with the name of the policy that allows them. */
const POLICIES: readonly (readonly [RegExp, string])[] = [
  [/^ec2:(Describe|Get)|^ssm:|^pricing:|^iam:(Get|List)/, 'KarpenterControllerResourceDiscoveryPolicy'],
  [/^ec2:/, 'KarpenterControllerNodeLifecyclePolicy'],
  [/^iam:/, 'KarpenterControllerIAMIntegrationPolicy'],
  [/^sqs:/, 'KarpenterControllerInterruptionPolicy'],
  [/^eks:/, 'KarpenterControllerEKSIntegrationPolicy'],
];

export const policyFor = (action: string): string =>
  POLICIES.find(([matches]) => matches.test(action))?.[1] ?? 'a policy of the controller';

/** Checks if a call is allowed. The call must be a dry run or a read, so that it changes nothing. */
export async function checkPermission(action: string, call: () => Promise<unknown>, level: Finding['level'] = 'error') {
  try {
    await call();
    return fine(action, 'allowed');
  } catch (error) {
    if (isDryRun(error)) return fine(action, 'allowed');
    if (isDenied(error))
      return {
        level,
        subject: action,
        message: describeError(error),
        fix: `allow ${action} in ${policyFor(action)}, attached to the role of the controller`,
      } satisfies Finding;
    return unknownFinding(
      action,
      `could not be tried: ${describeError(error)}`,
      'correct the cause in the error, then run doctor again',
    );
  }
}
