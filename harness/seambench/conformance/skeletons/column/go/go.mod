module columns

go 1.21
