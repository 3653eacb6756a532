module serde

go 1.21
