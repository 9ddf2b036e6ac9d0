# The main job with the AWS command line. Usage: awscli.sh URL
set -eu
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION=us-east-1 AWS_PAGER= AWS_EC2_METADATA_DISABLED=true
endpoint=$1
aws() { command aws --endpoint-url "$endpoint" "$@"; }
url=$(aws sqs create-queue --queue-name orders --output text --query QueueUrl)
[ "$url" = "$endpoint/000000000000/orders" ] || { echo "queue URL $url"; exit 1; }
aws sqs send-message --queue-url "$url" --message-body 'two dosas' --message-attributes 'table={DataType=Number,StringValue=7}' >/dev/null
got=$(aws sqs receive-message --queue-url "$url" --message-attribute-names All --output text --query 'Messages[0].[Body,MessageAttributes.table.StringValue,ReceiptHandle]')
set -- $got
[ "$1 $2 $3" = "two dosas 7" ] || { echo "received $got"; exit 1; }
aws sqs delete-message --queue-url "$url" --receipt-handle "$4"
left=$(aws sqs get-queue-attributes --queue-url "$url" --attribute-names All --output text --query 'Attributes.[ApproximateNumberOfMessages,ApproximateNumberOfMessagesNotVisible]')
set -- $left
[ "$1 $2" = "0 0" ] || { echo "left: $left"; exit 1; }
if said=$(aws sqs send-message --queue-url "${url}x" --message-body x 2>&1); then echo "sent to a queue that is not there: $said"; exit 1; fi
case $said in *NonExistentQueue*) ;; *) echo "a queue that is not there: $said"; exit 1;; esac
echo 'all well'
