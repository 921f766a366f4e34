# Creates the stack of cloudformation.yaml with Terraform, so that all resources have one source: the role of the operator with
# its policies and the Pod Identity association, the node role with its access entry, the queue and its rules. Run
# `terraform apply -var cluster_name=my-cluster`. Use `parameters` for IRSA and for clusters without access entries.
terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

variable "cluster_name" {
  description = "EKS cluster name"
  type        = string
}

variable "namespace" {
  description = "Namespace of the operator"
  type        = string
  default     = "kube-system"
}

variable "parameters" {
  description = "Further parameters of the stack, for example { Credentials = \"IRSA\", OIDCIssuer = \"oidc.eks…\" }"
  type        = map(string)
  default     = {}
}

resource "aws_cloudformation_stack" "karpenter" {
  name          = "Karpenter-${var.cluster_name}"
  template_body = file("${path.module}/cloudformation.yaml")
  capabilities  = ["CAPABILITY_NAMED_IAM"]
  parameters    = merge({ ClusterName = var.cluster_name, Namespace = var.namespace }, var.parameters)
}

output "controller_role_arn" {
  description = "For IRSA, the annotation eks.amazonaws.com/role-arn of the service account. Null with Credentials = None."
  value       = lookup(aws_cloudformation_stack.karpenter.outputs, "ControllerRoleArn", null)
}

output "node_role_name" {
  description = "spec.role of EC2NodeClasses"
  value       = aws_cloudformation_stack.karpenter.outputs["NodeRoleName"]
}
