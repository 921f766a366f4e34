# Creates the stack of cloudformation.yaml with Terraform, so that the policies have one source. Run
# `terraform apply -var cluster_name=my-cluster`.
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

data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}

resource "aws_cloudformation_stack" "karpenter" {
  name          = "Karpenter-${var.cluster_name}"
  template_body = file("${path.module}/cloudformation.yaml")
  capabilities  = ["CAPABILITY_NAMED_IAM"]
  parameters    = { ClusterName = var.cluster_name }
}

locals {
  policies = [
    "KarpenterControllerNodeLifecyclePolicy",
    "KarpenterControllerIAMIntegrationPolicy",
    "KarpenterControllerEKSIntegrationPolicy",
    "KarpenterControllerInterruptionPolicy",
    "KarpenterControllerZonalShiftPolicy",
    "KarpenterControllerResourceDiscoveryPolicy",
  ]
  policy_arns = [
    for name in local.policies :
    "arn:${data.aws_partition.current.partition}:iam::${data.aws_caller_identity.current.account_id}:policy/${name}-${var.cluster_name}"
  ]
}

# Role of the controller for EKS Pod Identity.
resource "aws_iam_role" "controller" {
  name = "${var.cluster_name}-karpenter"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "pods.eks.amazonaws.com" }
      Action    = ["sts:AssumeRole", "sts:TagSession"]
    }]
  })
}

resource "aws_iam_role_policy_attachment" "controller" {
  for_each   = { for index, name in local.policies : name => local.policy_arns[index] }
  role       = aws_iam_role.controller.name
  policy_arn = each.value
  depends_on = [aws_cloudformation_stack.karpenter]
}

resource "aws_eks_pod_identity_association" "controller" {
  cluster_name    = var.cluster_name
  namespace       = var.namespace
  service_account = "karpenter"
  role_arn        = aws_iam_role.controller.arn
}

# Allows nodes with the role to join the cluster.
resource "aws_eks_access_entry" "node" {
  cluster_name  = var.cluster_name
  principal_arn = "arn:${data.aws_partition.current.partition}:iam::${data.aws_caller_identity.current.account_id}:role/KarpenterNodeRole-${var.cluster_name}"
  type          = "EC2_LINUX"
  depends_on    = [aws_cloudformation_stack.karpenter]
}

output "controller_policy_arns" {
  value = local.policy_arns
}
