export { AWS_GATES, AWS_OPERATOR_OPTIONS, type AwsOperatorSettings, parseAwsSettings } from '../settings.ts';
