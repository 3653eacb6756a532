module PROGRAM

go 1.25

require github.com/apache/arrow-go/v18 v18.8.0
